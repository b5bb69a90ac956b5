import type { Context } from 'hono';
import type { FC } from 'hono/jsx';
import { isOpen, type Run } from '../../../core/occurrence.ts';
import { type Deadlines, readDeadlines } from '../../../engine/job-page.ts';
import { type Day, readDays } from '../../../engine/job-page-days.ts';
import { listOccurrences, type OccurrenceReading } from '../../../engine/reading.ts';
import { type OwedPage, readOwed } from '../../../engine/reading-owed.ts';
import { type RollEntry, readRolls } from '../../../engine/rolls.ts';
import { readMarks } from '../../../store/dashboard-mark.ts';
import type { Tx } from '../../../store/database.ts';
import { readJobMark, rowFacts, runsOfOccurrence, type TimedRun, timedRuns } from '../../../store/job-page.ts';
import { occurrencesAt, pageOfIncidents, type StoredIncident } from '../../../store/reading.ts';
import type { PageDeps } from '../deps.ts';
import { Roll, RollLegend, StateBadge } from '../roll.tsx';
import type { PageEnv } from '../viewer.ts';
import { Durations, RUNS_SHOWN } from './durations.tsx';
import { type JobView, jobPage, jobView, noSuchJobPage } from './frame.tsx';
import { OpenIncidents } from './incidents.tsx';
import { type LoadedJob, loadJob } from './load.ts';
import { OccurrenceTable } from './occurrence-table.tsx';
import { OWED_SHOWN, Owed } from './owed.tsx';
import { TimeLine } from './time-line.tsx';
import { DAYS_SHOWN, Year } from './year.tsx';

const ROLL = { past: 56, ahead: 6 } as const;
const NEWEST_SHOWN = 10;
/** What is settled although due later, whenever it was: the newest thing that happened to a heartbeat. */
const ALL_AHEAD = {
  dueUntil: Number.POSITIVE_INFINITY,
  after: Number.NEGATIVE_INFINITY,
  until: Number.POSITIVE_INFINITY,
};

/** The occurrence whose deadlines are drawn: the one that is open now, else the next. */
type Current = {
  readonly entry: RollEntry;
  readonly deadlines: Deadlines;
  readonly runs: readonly Run[];
};

type Overview = {
  readonly incidents: readonly StoredIncident[];
  readonly owed: OwedPage;
  readonly roll: readonly RollEntry[];
  readonly current: Current | null;
  readonly days: readonly Day[];
  readonly runs: readonly TimedRun[];
  readonly newest: readonly OccurrenceReading[];
};

/** The page of a job. */
export async function overviewPage(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const { project } = c.var;
  const seen = c.req.header('HX-Request') ? c.req.query('seen') : undefined;
  const found = await loadJob(deps, c, async (tx, job) => {
    const mark = await readJobMark(tx, project.id, job.stored.id);
    // Another job of the project has changed: there is nothing to show anew.
    if (mark === seen) return { overview: null, mark, projectMark: '' };
    const projectMark = (await readMarks(tx, [project.id])).get(project.id) ?? '';
    return { overview: await readOverview(deps, tx, job, project.id), mark, projectMark };
  });
  if (!found) return noSuchJobPage(deps, c);
  const { overview, mark, projectMark } = found;
  if (overview === null) return c.body(null, 204);
  const view = jobView(c, found.job);
  const live = { path: `${view.base}?seen=${mark}`, mark: projectMark };
  return jobPage(deps, c, view, { tab: 'overview', live }, <Parts view={view} {...overview} />);
}

async function readOverview({ zones }: PageDeps, tx: Tx, job: LoadedJob, projectId: number): Promise<Overview> {
  const { stored, readable, zone } = job;
  const { id } = stored;
  const rolls = await readRolls(tx, zones, [id], ROLL);
  const roll = rolls.get(id) ?? [];
  const due = { after: stored.createdAt, until: tx.now, states: null };
  return {
    incidents: await pageOfIncidents(tx, projectId, { jobId: id, state: 'open', before: null, limit: 20 }),
    owed: await readOwed(tx, stored, { from: null, limit: OWED_SHOWN, zones }),
    roll,
    current: await readCurrent(tx, job, roll, projectId),
    days: await readDays(tx, readable, zone, daysShown(job)),
    runs: await timedRuns(tx, id, RUNS_SHOWN),
    newest: await listOccurrences(tx, readable, due, { limit: NEWEST_SHOWN, zones, ahead: ALL_AHEAD }),
  };
}

/** Whole weeks before this one, and the days of this one so far. */
function daysShown({ zone, now }: LoadedJob): number {
  const weekday = new Date(zone.localAt(now)).getUTCDay() || 7;
  return DAYS_SHOWN - 7 + weekday;
}

async function readCurrent(
  tx: Tx,
  { stored, readable }: LoadedJob,
  roll: readonly RollEntry[],
  projectId: number,
): Promise<Current | null> {
  const newest = roll.findLast(({ scheduledFor }) => scheduledFor <= tx.now);
  const ahead = roll.filter(({ scheduledFor }) => scheduledFor > tx.now);
  const entry = newest && isOpen(newest.state) ? newest : (ahead.find(({ state }) => isOpen(state)) ?? ahead[0]);
  if (!entry) return null;
  const { scheduledFor } = entry;
  const [row] = await occurrencesAt(tx, stored.id, [scheduledFor]);
  const facts = await rowFacts(tx, stored.id, scheduledFor);
  const runs = await runsOfOccurrence(tx, stored.id, scheduledFor);
  const dated = { ...entry, startedAt: row?.startedAt ?? null };
  return { entry, runs, deadlines: await readDeadlines(tx, readable, dated, { runs, facts, projectId }) };
}

const Parts: FC<Overview & { view: JobView }> = ({ view, incidents, owed, roll, current, days, runs, newest }) => (
  <div class="stack-l">
    {incidents.length === 0 && owed.owed.length === 0 ? null : (
      <div class="stack">
        <OpenIncidents view={view} incidents={incidents} />
        <Owed view={view} page={owed} isBacklog={incidents.some(({ kind }) => kind === 'backlog')} />
      </div>
    )}
    <section class="stack-s" aria-labelledby="roll">
      <h2 id="roll">Roll</h2>
      {roll.length === 0 ? (
        <p class="soft">Nothing was due yet, and nothing is to come.</p>
      ) : (
        <div class="newest-first">
          <Roll
            cells={roll}
            label={`Roll of ${view.job.json.name}`}
            href={({ key }) => `${view.base}/occurrences/${key}`}
          />
        </div>
      )}
      <details class="small" id="legend" hx-morph-skip>
        <summary>What the shapes mean</summary>
        <RollLegend />
      </details>
    </section>
    {current ? <CurrentOccurrence view={view} current={current} /> : null}
    <Year view={view} days={days} />
    <Durations view={view} runs={runs} />
    <section class="stack-s" aria-labelledby="newest">
      <div class="row spread baseline">
        <h2 id="newest">Newest occurrences</h2>
        <a href={`${view.base}/occurrences`}>All occurrences</a>
      </div>
      {newest.length === 0 ? (
        <p class="empty soft">
          Nothing was due yet. {view.mayEdit ? <a href={`${view.base}/snippets`}>How to ping</a> : null}
        </p>
      ) : (
        <OccurrenceTable view={view} occurrences={newest} caption="The newest occurrences" />
      )}
    </section>
  </div>
);

const CurrentOccurrence: FC<{ view: JobView; current: Current }> = ({ view, current }) => {
  const { entry, deadlines, runs } = current;
  const isPast = entry.scheduledFor <= view.job.now;
  return (
    <section class="stack-s" aria-labelledby="current">
      <div class="row">
        <h2 id="current">{isPast ? 'The current occurrence' : 'The next occurrence'}</h2>
        <StateBadge state={entry.state} />
        <a class="small" href={`${view.base}/occurrences/${entry.key}`}>
          {entry.key.replace('T', ' ')}
        </a>
      </div>
      <TimeLine view={view} due={entry.scheduledFor} deadlines={deadlines} runs={runs} />
    </section>
  );
};
