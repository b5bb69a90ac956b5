import type { IncidentKind, IncidentMessage } from '../core/message.ts';

/** One way to act: a line to paste, and the words that lead to it. */
export type Way = { readonly says: string; readonly line: string };

/** What the policy makes of a problem by itself, and what a person can do. */
export type Advice = { readonly text: string; readonly ways: readonly Way[] };

type Policy = NonNullable<IncidentMessage['facts']['missedRuns']>;
type Plight = 'silent' | 'hanging' | 'failed';

const HANGS = 'See whether it hangs.';

/** What the policy makes of a run that nobody heard of, that has not ended, or that failed. */
const OUTLOOK: Readonly<Record<Plight, Readonly<Record<Policy, string>>>> = {
  silent: {
    catch_up: 'It stays owed (catch_up) until it is done or no longer useful.',
    coalesce: 'The next good run covers it (coalesce).',
    skip: 'Nothing is owed (skip): this one is not made up for.',
  },
  hanging: {
    catch_up: `${HANGS} It stays owed (catch_up) until it is done or no longer useful.`,
    coalesce: `${HANGS} The next good run covers it (coalesce).`,
    skip: `${HANGS} Nothing is owed (skip).`,
  },
  failed: {
    catch_up: 'It stays owed (catch_up) until a run of it succeeds or it is no longer useful.',
    coalesce: 'The next good run covers it (coalesce).',
    skip: 'Nothing is owed (skip): the next good run ends this.',
  },
};

/** Before the line that reports a run. The real address is a secret: who runs the job has it. */
const REPORT: Readonly<Record<Plight, string>> = {
  silent: 'If it ran unheard, or you run it by hand, report it (PING_URL is its ping address):',
  hanging: 'If it ended unheard, report it (PING_URL is its ping address):',
  failed: 'If you repeat it by hand, report it (PING_URL is its ping address):',
};

const FIXED: Partial<Record<IncidentKind, string>> = {
  duplicate: 'Check for double effects. This ends with the next run that happens just once.',
  unscheduled: 'It counts for no due run. A run that makes up for one must ping with its key (occ=…).',
  schedule_error: 'No run is expected until the job is saved with a schedule that can be read.',
  expired: 'It is done, but after its window: nothing is owed. This ends with the next good run.',
};

/** The line that reports an occurrence done. */
export const payLine = (key: string): string => `curl -fsS "$PING_URL/0?occ=${key}"`;

/** What the job's policy makes of it, and what a person can do, the best first. */
export function whatNow(message: IncidentMessage): Advice {
  const { incident, facts, occurrences, job } = message;
  const { kind } = incident;
  const { missedRuns } = facts;
  const [first] = occurrences;
  const fixed = FIXED[kind];
  if (fixed !== undefined) return { text: fixed, ways: [] };
  if (kind === 'backlog') return { text: DECIDE, ways: decisions(job.slug) };
  if (missedRuns === null || !first) {
    return { text: `The next ${kind === 'failed' ? 'good ping' : 'ping'} of this job settles it.`, ways: [] };
  }
  const plight = kind === 'failed' ? 'failed' : kind === 'late' || kind === 'overrun' ? 'hanging' : 'silent';
  const text = kind === 'not_started' ? 'It is missing only once its deadline passes.' : OUTLOOK[plight][missedRuns];
  const isOwed = missedRuns !== 'skip' && kind !== 'not_started' && plight !== 'hanging';
  const report = { says: REPORT[plight], line: payLine(first.key) };
  return { text, ways: [...(isOwed ? [catchUp(message, missedRuns)] : []), report, settling(job.slug, first.key)] };
}

function catchUp({ incident, job }: IncidentMessage, policy: 'catch_up' | 'coalesce'): Way {
  const what = policy === 'catch_up' && incident.occurrenceCount > 1 ? 'all that is owed' : 'what is owed';
  return { says: `Run ${what}, on its host:`, line: `rollcall exec ${job.slug} --catch-up -- COMMAND` };
}

const settling = (slug: string, key: string): Way => ({
  says: 'Or settle it without a run (skipped, or on_time):',
  line: `rollcall settle ${slug} ${key} skipped`,
});

const DECIDE = 'Nothing is handed out until a person says run or skip. What is due after that counts anew.';

function decisions(slug: string): readonly Way[] {
  const call =
    `curl -fsS "$ROLLCALL_URL/api/v1/jobs/${slug}/backlog" -H "Authorization: Bearer $ROLLCALL_API_KEY" ` +
    `-H 'Content-Type: application/json' -d '{"decision": "run"}'`;
  return [
    { says: 'Run them all, the oldest first:', line: runLine(slug) },
    { says: 'Or give them all up:', line: `rollcall backlog ${slug} skip` },
    { says: 'Or by the API (run or skip):', line: call },
  ];
}

/** The line by which a person has everything run that is owed or unconfirmed. */
export const runLine = (slug: string): string => `rollcall backlog ${slug} run`;
