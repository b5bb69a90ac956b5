const MINUTE_MS = 60_000;
/** Lines a minute at most, and so the most that is remembered: whoever tries one slug after another floods nothing. */
const MOST_A_MINUTE = 100;

export type RefusedPing = {
  /** null where the ping was addressed by uuid. Key and uuid are secrets: they are not noted. */
  readonly slug: string | null;
  readonly source: string | null;
  readonly status: number;
};

type Log = { info(fields: object, message: string): void };

/** Notes pings that lead nowhere, for whoever looks for a typing error: one line a minute for each address and slug. */
export function createRefusedPings(log: Log, monotonic: () => number): (ping: RefusedPing) => void {
  let notedAt = new Map<string, number>();
  let floodNotedAt = -MINUTE_MS;
  return ({ slug, source, status }) => {
    const now = monotonic();
    const id = `${source} ${slug}`;
    notedAt = new Map([...notedAt].filter(([, at]) => now - at < MINUTE_MS));
    if (notedAt.has(id)) return;
    if (notedAt.size >= MOST_A_MINUTE) {
      if (now - floodNotedAt < MINUTE_MS) return;
      floodNotedAt = now;
      return log.info({ noted: MOST_A_MINUTE }, 'more pings with unknown keys or slugs are refused than are noted');
    }
    notedAt.set(id, now);
    log.info(
      { slug: slug && withoutUuid(slug), source, status },
      'a ping was refused: its key, slug or uuid is unknown',
    );
  };
}

/** A uuid in the place of the slug may be the secret of a job. */
function withoutUuid(slug: string): string {
  return slug.replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, '…');
}
