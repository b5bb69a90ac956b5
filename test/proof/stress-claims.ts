import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { query } from './promises.ts';
import { call } from './service.ts';
import type { Figures } from './stress-checks.ts';
import { type Clients, sendOne } from './stress-clients.ts';
import type { Member } from './stress-fleet.ts';
import type { StressJob } from './stress-jobs.ts';

const claimed = (slug: string, every: number, rest: object): StressJob => ({
  slug,
  every,
  grace: 2,
  definition: { schedules: [{ every: `${every}s` }], zone: 'UTC', grace: '2s', throttle: '0s', ...rest },
  reports: () => 'nothing',
});

/** Their runners ask what to run. */
export const CLAIMED: readonly StressJob[] = [
  claimed('claimed-catch-up', 2, { missed_runs: 'catch_up' }),
  claimed('claimed-at-once', 1, { missed_runs: 'catch_up', overlap: 'allow' }),
  claimed('claimed-coalesce', 3, { missed_runs: 'coalesce' }),
  claimed('claimed-replace', 3, { missed_runs: 'coalesce', overlap: 'replace' }),
  claimed('claimed-skip', 2, { missed_runs: 'skip' }),
];

/** A claim as it was answered. On the wall clock: when that was, until when it holds, and when its runner wanted no more. */
type Given = {
  readonly id: number;
  readonly slug: string;
  readonly rid: string;
  readonly key: string;
  readonly answeredAt: number;
  leaseUntil: number;
  doneAt: number;
};

export type Claimers = Clients & { readonly given: readonly Given[] };

export type ClaimersOptions = {
  readonly webs: readonly Member[];
  readonly pingKey: string;
  /** Runners of each job. */
  readonly runners: number;
  /** Whether some die with their claim in hand: its lease has to run out. */
  readonly deadly: boolean;
  readonly random: () => number;
};

type Reply = { readonly status: number; readonly body: Readonly<Record<string, unknown>> };

const TRY_MS = 10_000;
const PATIENCE = { tryMs: TRY_MS, tries: 60, pauseMs: 200 };

/** Runners that ask for an occurrence, and then report it, renew it first, give it back, or die. */
export function startClaimers({ webs, pingKey, runners, deadly, random }: ClaimersOptions): Claimers {
  const given: Given[] = [];
  const sent: Awaited<ReturnType<typeof sendOne>>[] = [];
  const stopping = new AbortController();
  const { signal } = stopping;
  setMaxListeners(0, signal);
  const first = (): number => Math.floor(random() * webs.length);

  const useIt = async (claim: Given): Promise<void> => {
    const { id, slug, rid } = claim;
    const fate = random();
    if (fate < 0.3) {
      const { status, body } = await ask(webs, first(), 'POST', `/claims/${id}/extend`);
      if (status === 200) claim.leaseUntil = Date.parse(String(body['lease_until']));
    }
    await sleep(random() * 300);
    if (fate > 0.95 && deadly) return;
    claim.doneAt = Date.now();
    if (fate > 0.85) await ask(webs, first(), 'DELETE', `/claims/${id}`);
    else {
      const route = { query: '', first: first(), patience: PATIENCE, agent: null };
      sent.push(await sendOne(`/ping/${pingKey}/${slug}`, { slug, kind: 'success', rid, webs, ...route }));
    }
  };
  const runner = async (slug: string): Promise<void> => {
    while (!signal.aborted) {
      const rid = randomUUID();
      const { status, body } = await ask(webs, first(), 'POST', `/jobs/${slug}/claims`, { rid });
      // 400: the answer to an earlier try was lost, and its lease has run out since.
      if (status === 409 || status === 400 || status === 0) {
        await sleep(100 + random() * 300, null, { signal }).catch(() => undefined);
        continue;
      }
      if (status !== 200 && status !== 201) throw new Error(`claim of ${slug}: ${status} ${JSON.stringify(body)}`);
      const [key, leaseUntil] = [String(body['key']), Date.parse(String(body['lease_until']))];
      const times = { answeredAt: Date.now(), leaseUntil, doneAt: Number.POSITIVE_INFINITY };
      const claim: Given = { id: Number(body['id']), slug, rid, key, ...times };
      given.push(claim);
      await useIt(claim);
    }
  };
  const loops = CLAIMED.flatMap(({ slug }) => Array.from({ length: runners }, () => runner(slug)));
  return {
    given,
    sent,
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

/** Asks until somebody has an answer; status 0: nobody had. */
async function ask(
  webs: readonly Member[],
  first: number,
  method: string,
  path: string,
  body?: object,
): Promise<Reply> {
  for (let i = 0; i < PATIENCE.tries; i += 1) {
    const member = webs[(first + i) % webs.length];
    const url = `${member?.url}/api/v1${path}`;
    const { status, text } = await call(method, url, body, TRY_MS).catch(() => ({ status: 0, text: '' }));
    if (status !== 0 && status !== 503) return { status, body: text === '' ? {} : JSON.parse(text) };
    await sleep(PATIENCE.pauseMs);
  }
  return { status: 0, body: {} };
}

/** Whoever got an occurrence had it alone: the next one got it when the lease, the claim or the run was over. */
export async function expectOneWinner(url: string, { given, sent }: Claimers): Promise<Figures> {
  const strangers = await query(
    url,
    `select m.* from jsonb_to_recordset($1::jsonb) m(id bigint, slug text, rid uuid, key timestamptz)
     left join claims c on c.id = m.id and c.rid = m.rid and c.scheduled_for = m.key
     left join jobs j on j.id = c.job_id and j.slug = m.slug where j.id is null limit 10`,
    JSON.stringify(given.map(({ id, slug, rid, key }) => ({ id, slug, rid, key }))),
  );
  expect(strangers, 'answered, but not stored').toEqual([]);
  expect(sharedAmong(given), 'one occurrence in the hands of two').toEqual([]);
  const again = await query(
    url,
    `select c.id, c.job_id, c.scheduled_for from claims c
     join occurrences o on o.job_id = c.job_id and o.scheduled_for = c.scheduled_for
     where o.state in ('on_time', 'late') and o.reason is distinct from 'operator' and c.claimed_at > o.completed_at limit 10`,
  );
  expect(again, 'handed out although it was done').toEqual([]);
  const rows = await query(url, 'select count(*) as n from claims');
  return { claims: Number(rows[0]?.['n']), claims_answered: given.length, claims_reported: sent.length };
}

/** As their runners saw it: the instants in the database are those at which they began to wait for the job. */
function sharedAmong(given: readonly Given[]): readonly (readonly [Given, Given])[] {
  const sorted = given.toSorted((a, b) => a.answeredAt - b.answeredAt);
  return sorted.flatMap((one, i) =>
    sorted
      .slice(i + 1)
      .filter(({ slug, key, rid }) => slug === one.slug && key === one.key && rid !== one.rid)
      .filter(({ answeredAt }) => answeredAt < Math.min(one.doneAt, one.leaseUntil))
      .map((other) => [one, other] as const),
  );
}
