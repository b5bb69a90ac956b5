import { DEFAULT_MAX_CATCH_UP, type JobDefinition, type Threshold, thresholdKinds } from '../core/definition.ts';
import { groupBy } from '../core/group.ts';
import { isHeartbeat, nextDue, versionDueAt } from '../core/instants.ts';
import { formatKey } from '../core/key.ts';
import type { Ledger, LedgerEvent, Version } from '../core/ledger.ts';
import type { IncidentKind, IncidentMessage } from '../core/message.ts';
import { deadlineOf, isCompleted } from '../core/occurrence.ts';
import { rowTerms } from '../core/terms.ts';
import { formatInstant, type Instant } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import { enqueueForJobs, enqueueNotice, enqueueWhereTold } from '../store/outbox.ts';
import { routedChannels } from '../store/routing.ts';
import {
  type LastCompleted,
  lastCompletedOf,
  type Member,
  membersOf,
  type SuccessfulRun,
  successfulRuns,
} from '../store/telling.ts';
import type { OpenJob } from './working-set.ts';

/** What the failing run said, for the events its ping caused. */
export type Said = { readonly exitCode: number | null; readonly output: string | null };

const OUTPUT_CHARACTERS = 2000;
const MOST_LISTED = 100;

type Listed = Pick<Member, 'scheduledFor' | 'state' | 'settledAt' | 'version'>;

/** The end of a body as text, by code point; bytes that are no UTF-8 become U+FFFD. */
export function outputTail(body: Uint8Array): string | null {
  if (body.length === 0) return null;
  const text = new TextDecoder().decode(body.subarray(Math.max(0, body.length - 4 * OUTPUT_CHARACTERS)));
  // A script under `set -x` says its own ping URL, which is a secret.
  const safe = text.replace(/\/ping\/\S+/g, '/ping/…');
  return [...safe].slice(-OUTPUT_CHARACTERS).join('').trim() || null;
}

/** Writes the outbox rows of everything these jobs' ledgers want told. After save(): incidents have their real ids. */
export async function tell(tx: Tx, jobs: readonly OpenJob[], said: ReadonlyMap<LedgerEvent, Said>): Promise<void> {
  const loud = jobs.filter(({ ledger }) => ledger.events.length > 0);
  if (loud.length > 0) {
    const known = await knownOf(tx, loud, (open) => open.ledger.events);
    const rows = loud.flatMap((open) =>
      open.ledger.events.map((event) => ({
        jobId: open.job.id,
        incidentId: event.incident.id,
        event: event.number,
        payload: messageOf(open, event, known, said.get(event)),
      })),
    );
    await enqueueForJobs(tx, rows);
  }
  await tellSilentEnds(tx, jobs);
  await tellUnknown(tx, jobs);
}

/**
 * An incident that ended without a word (its job was paused, or its occurrences moved on) ends without one for people. Where
 * a receiver keeps an alert for it, somebody has to close that: so who was told gets its end, and the sender decides.
 */
async function tellSilentEnds(tx: Tx, jobs: readonly OpenJob[]): Promise<void> {
  const ends = jobs.flatMap((open) => silentEnds(open).map((event) => ({ open, event })));
  if (ends.length === 0) return;
  const known = await knownOf(tx, [...new Set(ends.map(({ open }) => open))], silentEnds);
  const rows = ends.map(({ open, event }) => ({
    incidentId: event.incident.id,
    event: event.number,
    payload: messageOf(open, event, known, undefined),
  }));
  await enqueueWhereTold(tx, rows);
}

function silentEnds({ ledger }: OpenJob): readonly LedgerEvent[] {
  return [...ledger.changedIncidents].flatMap((incident) => {
    const { resolvedAt: at, silent, events } = incident;
    return at === null || !silent || events === 0
      ? []
      : [{ incident, number: events + 1, type: 'resolved', at, first: null, before: null } as const];
  });
}

/** What a reminder says: this incident as it stands now. `event` is of type reminded; it is in no ledger. */
export async function messageAgain(tx: Tx, open: OpenJob, event: LedgerEvent): Promise<IncidentMessage> {
  return messageOf(open, event, await knownOf(tx, [open], () => [event]), undefined);
}

async function knownOf(
  tx: Tx,
  jobs: readonly OpenJob[],
  eventsOf: (open: OpenJob) => readonly LedgerEvent[],
): Promise<Known> {
  const incidentIds = jobs.flatMap((open) => eventsOf(open).map(({ incident }) => incident.id));
  const jobIds = jobs.map(({ job }) => job.id);
  const [members, completed, successes] = await Promise.all([
    membersOf(tx, [...new Set(incidentIds)]),
    lastCompletedOf(tx, jobIds),
    successfulRuns(
      tx,
      jobs.flatMap((open) => doubled(open, eventsOf(open))),
    ),
  ]);
  return { members, completed, successes };
}

function keyIn(versions: readonly Version[], number: number, at: Instant): string {
  const version = versions.find((one) => one.number === number) ?? versions.at(-1);
  return version ? formatKey(at, version.zone) : formatInstant(at);
}

function messageOf(
  { job, ledger }: OpenJob,
  event: LedgerEvent,
  known: Known,
  said: Said | undefined,
): IncidentMessage {
  const { incident } = event;
  const own = listed(known.members, event, ledger);
  const resolved = event.type === 'resolved';
  return {
    type: `incident.${event.type}`,
    incident: {
      id: incident.id,
      kind: incident.kind,
      state: resolved ? 'resolved' : 'open',
      openedAt: incident.openedAt,
      resolvedAt: resolved ? incident.resolvedAt : null,
      occurrenceCount: incident.occurrenceCount,
    },
    job: { slug: job.slug, name: job.definition.name, tags: job.definition.tags, zone: job.definition.zone },
    occurrences: own.map((one) => ({
      key: keyIn(ledger.versions, one.version, one.scheduledFor),
      scheduledFor: one.scheduledFor,
      state: one.state,
      ...endBeforeDue(ledger, one),
    })),
    facts: factsOf({ job, ledger }, event, known, said),
  };
}

/** A heartbeat is done long before it is due: people are told when it was. */
function endBeforeDue(ledger: Ledger, { scheduledFor, state, settledAt }: Listed): { readonly endedAt?: Instant } {
  const hasRun = isCompleted(state) || state === 'failed';
  if (!isHeartbeat(ledger) || !hasRun || settledAt === null || settledAt >= scheduledFor) return {};
  return { endedAt: settledAt };
}

/** What the database knows besides, for all messages of a transaction. */
type Known = {
  readonly members: readonly Member[];
  readonly completed: readonly LastCompleted[];
  readonly successes: readonly SuccessfulRun[];
};

/** Occurrences that are told to have been run too often. */
const doubled = ({ job }: OpenJob, events: readonly LedgerEvent[]) =>
  events.flatMap(({ incident, first }) =>
    incident.kind === 'duplicate' && first !== null ? [{ jobId: job.id, scheduledFor: first }] : [],
  );

function factsOf({ job, ledger }: OpenJob, event: LedgerEvent, known: Known, said: Said | undefined) {
  const { incident, first, before } = event;
  const last = known.completed.find(({ jobId }) => jobId === job.id);
  const isDouble = incident.kind === 'duplicate' && first !== null;
  const runs = known.successes.filter(({ jobId, scheduledFor }) => jobId === job.id && scheduledFor === first);
  return {
    before,
    expectedBy: expectedBy({ job, ledger }, event),
    lastCompleted: last ? keyIn(ledger.versions, last.version, last.scheduledFor) : null,
    lastCompletedState: last?.state ?? null,
    ...(last && last.settledAt !== null && isHeartbeat(ledger) ? { lastCompletedAt: last.settledAt } : {}),
    completions: isDouble ? (ledger.rows.get(first)?.completions ?? null) : null,
    runs: isDouble ? runs.map(({ endedAt, source }) => ({ endedAt, source })) : null,
    missedRuns: job.definition.missedRuns,
    exitCode: said?.exitCode ?? null,
    output: said?.output ?? null,
    detail: incident.detail,
    usefulUntil: usefulUntil(ledger, first),
    nextDue: nextKey(ledger, event.at),
    alertAfter: thresholdOf(job.definition, incident.kind),
    maxCatchUp: incident.kind === 'backlog' ? (job.definition.maxCatchUp ?? DEFAULT_MAX_CATCH_UP) : null,
  };
}

function usefulUntil(ledger: Ledger, first: Instant | null): Instant | null {
  const row = first === null ? undefined : ledger.rows.get(first);
  const until = row ? rowTerms(ledger, row).usefulUntil : Number.POSITIVE_INFINITY;
  return Number.isFinite(until) ? until : null;
}

function nextKey(ledger: Ledger, after: Instant): string | null {
  const next = nextDue(ledger, after);
  return next === null ? null : formatKey(next, versionDueAt(ledger, next).zone);
}

/** Null where the first one is told. */
function thresholdOf({ alertAfter }: JobDefinition, kind: IncidentKind): Threshold | null {
  const known = thresholdKinds.find((one) => one === kind);
  const threshold = known && alertAfter[known];
  return threshold && threshold.count > 1 ? threshold : null;
}

/** The one that is told goes first, whether or not it is among the oldest 100. */
function listed(members: readonly Member[], { incident, first }: LedgerEvent, ledger: Ledger): Listed[] {
  const own: Listed[] = members.filter(({ incidentId }) => incidentId === incident.id);
  const told =
    own.find(({ scheduledFor }) => scheduledFor === first) ?? (first === null ? null : ledger.rows.get(first));
  return told ? [told, ...own.filter((one) => one !== told)].slice(0, MOST_LISTED) : own;
}

function expectedBy({ ledger }: OpenJob, { first, incident }: LedgerEvent): Instant | null {
  const row = first === null ? undefined : ledger.rows.get(first);
  if (!row) return null;
  const terms = rowTerms(ledger, row);
  if (incident.kind === 'not_started') return terms.startBy;
  const runs = ledger.runs.filter((run) => run.scheduledFor === row.scheduledFor);
  return incident.kind === 'overrun' ? deadlineOf(terms, runs) : terms.graceEnd;
}

/** One notice per blind window and settling instant, to every channel of the jobs concerned. */
async function tellUnknown(tx: Tx, jobs: readonly OpenJob[]): Promise<void> {
  const unknown = jobs.flatMap(({ job, ledger }) => ledger.unknown.map((one) => ({ jobId: job.id, ...one })));
  if (unknown.length === 0) return;
  const routes = await routedChannels(tx, [...new Set(unknown.map(({ jobId }) => jobId))], 'unknown');
  const bySubject = groupBy(unknown, ({ window, at }) => `blind:${window.until}:${at}`);
  for (const [subject, about] of bySubject) {
    const [first] = about;
    if (!first) continue;
    const { window, at } = first;
    const concerned = new Set(about.map(({ jobId }) => jobId));
    const channels = new Set(routes.filter(({ jobId }) => concerned.has(jobId)).map(({ channelId }) => channelId));
    const text = `Rollcall could not hear pings from ${formatInstant(window.after)} to ${formatInstant(window.until)}. Whether these runs happened is unknown.`;
    await enqueueNotice(tx, { kind: 'unknown', subject, text, at }, [...channels], about);
  }
}
