import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../clock.ts';
import type { Stretch } from '../core/calendar.ts';
import { parseCalendar } from '../core/calendar-text.ts';
import { applyMaintenance } from '../core/change.ts';
import { heldUntil, type MaintenanceDefinition, type Window } from '../core/maintenance.ts';
import { type Instant, parsed, type Result } from '../core/time.ts';
import type { Logger } from '../log.ts';
import { type Database, DatabaseUnavailable, type Tx } from '../store/database.ts';
import { recordAudit } from '../store/job-writing.ts';
import * as store from '../store/maintenance.ts';
import type { Zones } from '../zones.ts';
import type { CatchUp } from './catch-up.ts';
import { type ChangingDeps, change, whole } from './changing.ts';

/** Reads a text from a URL that a person gave, within limits; a reason for people where it cannot. Never throws. */
type FetchText = (url: string) => Promise<Result<string>>;

export type MaintenanceDeps = ChangingDeps & {
  readonly database: Database;
  readonly zones: Zones;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly catchUp: CatchUp;
  readonly fetchText: FetchText;
};

type Who = { readonly projectId: number; readonly slug: string; readonly actor: string };

/** A window in force, and how many jobs its past has not been applied to yet. */
type WindowReading = { readonly window: store.StoredWindow; readonly jobsLeft: number };

/** What people do to windows. */
export type Maintenance = {
  /**
   * Defines a window anew; `define` sees what is in force. What nobody ran in its past is skipped before this resolves, or
   * later where it takes long: then jobs are left.
   */
  put(
    who: Who,
    define: (old: store.StoredWindow | null, now: Instant) => MaintenanceDefinition,
  ): Promise<WindowReading & { readonly created: boolean }>;
  /** Ends a window from now on; false: there is none. */
  end(who: Who): Promise<boolean>;
  /** The events of a calendar, from its text or its URL. */
  readCalendar(from: { readonly ics: string } | { readonly url: string }, zone: string): Promise<CalendarReading>;
  /** When a window is, seen from an instant. */
  stretchOf(window: store.StoredWindow, at: Instant): WindowStretch;
  /** Applies the past of windows for which that was begun and not ended: whoever began may be dead. Returns how many. */
  applyPending(): Promise<number>;
};

/** Whether a window holds; and the stretch that is under way, or else the next one, with what follows without a gap. */
type WindowStretch = { readonly active: boolean; readonly next: Stretch | null };

type CalendarReading = ReturnType<typeof parseCalendar>;

/** A person waits for the answer no longer than this, plus one round. */
const PUT_MS = 5000;
/** Nothing else happens in this process while a calendar is expanded. */
const READING_MS = 2000;
const PAGE = 100;
const AT_ONCE = 4;
/** What happens again and again reaches back this far; what happens once, as far as it says. */
const REACH_MS = 31 * 86_400_000;
/** Occurrences of one job in one transaction. */
const ROWS_AT_ONCE = 1000;

export function createMaintenance(deps: MaintenanceDeps): Maintenance {
  const { database } = deps;
  return {
    async put({ projectId, slug, actor }, define) {
      const put = await database.transaction((tx) => putRevision(tx, { projectId, slug, actor }, define));
      const jobsLeft = put.changed ? await applyPast(deps, put.window.id, deps.clock.monotonic() + PUT_MS) : 0;
      return { window: put.window, created: put.created, jobsLeft };
    },
    end: ({ projectId, slug, actor }) =>
      database.transaction(async (tx) => {
        const isEnded = await store.endWindow(tx, projectId, slug);
        if (isEnded) await recordAudit(tx, { projectId, actor, action: 'maintenance.end', subject: slug });
        return isEnded;
      }),
    stretchOf: (window, at) => stretchOf(deps.versions.book.compiled(window), at),
    readCalendar: (from, zone) => readCalendar(deps, from, zone),
    async applyPending() {
      const pending = await database.transaction((tx) => store.pendingRevisions(tx));
      for (const { id } of pending) await applyPast(deps, id, Number.POSITIVE_INFINITY);
      return pending.length;
    },
  };
}

function stretchOf(window: Window, at: Instant): WindowStretch {
  const now = window.around(at);
  const found = now ?? window.next(at);
  if (!found) return { active: false, next: null };
  const until = heldUntil([window], now ? at : found.from) ?? found.until;
  return { active: now !== null, next: { from: found.from, until } };
}

/** Writes the revision, if it is one, into the ledger of windows and the audit. */
export async function putRevision(
  tx: Tx,
  { projectId, slug, actor }: Who,
  define: (old: store.StoredWindow | null, now: Instant) => MaintenanceDefinition,
): Promise<store.PutWindow> {
  let was: MaintenanceDefinition | null = null;
  const revision = {
    projectId,
    slug,
    actor,
    define: (old: store.StoredWindow | null) => {
      was = old?.definition ?? null;
      return define(old, tx.now);
    },
  };
  const put = await store.putRevision(tx, revision, isDeepStrictEqual);
  if (!put.changed) return put;
  const detail = { from: inShort(was), to: inShort(put.window.definition) };
  await recordAudit(tx, { projectId, actor, action: 'maintenance.put', subject: slug, detail });
  return put;
}

/** The audit keeps what a person said, not a megabyte of holidays. */
function inShort(definition: MaintenanceDefinition | null): object | null {
  if (definition === null || definition.when.kind !== 'calendar') return definition;
  const { events, ics, ...when } = definition.when;
  return { ...definition, when: { ...when, ics: ics !== null, events: events.length } };
}

async function readCalendar(
  { database, zones, clock, fetchText }: MaintenanceDeps,
  from: { readonly ics: string } | { readonly url: string },
  zone: string,
): Promise<CalendarReading> {
  const text = 'ics' in from ? parsed(from.ics) : await fetchText(from.url);
  if (!text.ok) return text;
  const now = await database.transaction(async (tx) => tx.now);
  const deadline = clock.monotonic() + READING_MS;
  const hasTime = (): boolean => clock.monotonic() < deadline;
  return parseCalendar(text.value, { zone, zoneOf: zones.get, hasTime }, now);
}

/**
 * Skips, for every job that a revision is about, what nobody ran in its past. Goes on where it was left; begun twice at once
 * it does no harm. Ends when all jobs are done or `deadline` (monotonic) passes; returns how many jobs are left.
 */
async function applyPast(deps: MaintenanceDeps, revisionId: number, deadline: number): Promise<number> {
  const { database, versions, clock } = deps;
  for (;;) {
    const page = await database.transaction((tx) => readPage(tx, revisionId));
    if (page === null) return 0;
    const { revision, jobs } = page;
    const window = versions.book.compiled(revision);
    for (let i = 0; i < jobs.length; i += AT_ONCE) {
      const some = jobs.slice(i, i + AT_ONCE);
      await Promise.all(some.map((job) => applyToJob(deps, { revision, window }, job)));
      const last = some.at(-1)?.id ?? 0;
      await database.transaction((tx) => store.notePending(tx, revisionId, last));
      if (clock.monotonic() >= deadline) return database.transaction((tx) => store.jobsLeft(tx, revision));
    }
  }
}

type Page = { readonly revision: store.StoredWindow; readonly jobs: readonly store.ConcernedJob[] };

/** The next jobs of a revision; null: there are none, or it is in force no more. */
async function readPage(tx: Tx, revisionId: number): Promise<Page | null> {
  const pending = (await store.pendingRevisions(tx)).find(({ id }) => id === revisionId);
  const revision = pending ? await store.findRevision(tx, revisionId) : null;
  if (pending && revision) {
    const limits = { after: pending.after, limit: PAGE };
    const jobs = await store.concernedJobs(tx, revision.projectId, revision.definition, limits);
    if (jobs.length > 0) return { revision, jobs };
  }
  await store.notePending(tx, revisionId, null);
  return null;
}

type Past = { readonly revision: store.StoredWindow; readonly window: Window };

/** One job; its failure is its own, unless the database is away. */
async function applyToJob(deps: MaintenanceDeps, { revision, window }: Past, job: store.ConcernedJob): Promise<void> {
  try {
    // What is late is judged first, as of its own instants: only then is it known what nobody ran.
    if (job.isDue) await deps.catchUp([job.id]);
    const { when } = revision.definition;
    let from = when.kind === 'once' ? when.from : revision.knownFrom - REACH_MS;
    for (;;) {
      const limits = { from, limit: ROWS_AT_ONCE };
      const silent = await deps.database.transaction((tx) => store.silentOccurrences(tx, job.id, limits));
      const inside = silent.filter((due) => window.around(due) !== null);
      if (inside.length > 0) await skipSilent(deps, job.id, inside);
      const last = silent.at(-1);
      if (last === undefined || silent.length < ROWS_AT_ONCE) return;
      from = last + 1;
    }
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error;
    deps.log.error(
      { error, job: job.slug, window: revision.slug },
      'a window could not be applied to the past of a job',
    );
  }
}

async function skipSilent(deps: MaintenanceDeps, jobId: number, inside: readonly Instant[]): Promise<void> {
  const find = (): Promise<number> => Promise.resolve(jobId);
  await change(deps, whole(find, inside), async (tx, { ledger }) => applyMaintenance(ledger, tx.now, inside));
}
