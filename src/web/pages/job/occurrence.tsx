import type { Context } from 'hono';
import type { FC } from 'hono/jsx';
import { parseKey } from '../../../core/key.ts';
import { isCompleted, isOpen, type Run } from '../../../core/occurrence.ts';
import { type Deadlines, type PingReading, readDeadlines, withPingKeys } from '../../../engine/job-page.ts';
import type { OccurrenceReading } from '../../../engine/reading.ts';
import { findOccurrence } from '../../../engine/reading-key.ts';
import type { Tx } from '../../../store/database.ts';
import {
  incidentsOfOccurrence,
  type ListingIncident,
  type RowFacts,
  rowFacts,
  runsOfOccurrence,
  settledBy,
} from '../../../store/job-page.ts';
import { pingsOfOccurrence } from '../../../store/job-page-pings.ts';
import type { PageDeps } from '../deps.ts';
import { notePage } from '../note.tsx';
import { Ago, Time } from '../time.tsx';
import type { PageEnv } from '../viewer.ts';
import { Copy } from './copy.tsx';
import { type JobView, jobPage, jobView, noSuchJobPage } from './frame.tsx';
import { type LoadedJob, loadJob } from './load.ts';
import { OccurrenceFacts } from './occurrence-facts.tsx';
import { payLines } from './pay.ts';
import { PingTable } from './ping-table.tsx';
import { SettleForm, type Settling } from './settle-form.tsx';
import { TimeLine } from './time-line.tsx';
import { KIND_WORDS, spokenMs } from './words.ts';

const PINGS_SHOWN = 100;

/** All there is to say about one occurrence. */
export type WholeOccurrence = {
  readonly occurrence: OccurrenceReading;
  readonly facts: RowFacts | null;
  readonly deadlines: Deadlines;
  readonly runs: readonly Run[];
  readonly pings: readonly PingReading[];
  readonly incidents: readonly ListingIncident[];
  /** Who settled it by hand. */
  readonly settledBy: string | null;
};

/** The page of one occurrence. `refused`: a form of it that could not be done, as it was sent. */
export async function occurrencePage(deps: PageDeps, c: Context<PageEnv>, refused?: Settling): Promise<Response> {
  const spelling = parseKey(c.req.param('key') ?? '');
  if (!spelling.ok) return notePage(deps, c, 404, 'No such occurrence', `This is no key: ${spelling.reason}.`);
  const { project } = c.var;
  const found = await loadJob(deps, c, async (tx, job) => {
    const lookup = await findOccurrence(tx, job.readable, spelling.value, deps.zones);
    const whole = lookup.found === 'one' ? await readWhole(deps, tx, job, lookup.occurrence, project.id) : null;
    return { whole, nearest: lookup.found === 'one' ? [] : lookup.nearest };
  });
  if (!found) return noSuchJobPage(deps, c);
  const view = jobView(c, found.job);
  if (!found.whole) {
    const near = found.nearest.map(({ key }) => key).join(' and ');
    const text = `The ledger has no occurrence of this key, or more than one of this date.${near === '' ? '' : ` Nearest: ${near}.`}`;
    return notePage(deps, c, 404, 'No such occurrence', text);
  }
  const { key } = found.whole.occurrence;
  return jobPage(
    deps,
    c,
    view,
    { title: key.replace('T', ' '), status: refused === undefined ? 200 : 400 },
    <Whole view={view} whole={found.whole} refused={refused} />,
  );
}

async function readWhole(
  deps: PageDeps,
  tx: Tx,
  { readable, stored }: LoadedJob,
  occurrence: OccurrenceReading,
  projectId: number,
): Promise<WholeOccurrence> {
  const { scheduledFor } = occurrence;
  const facts = await rowFacts(tx, stored.id, scheduledFor);
  const runs = await runsOfOccurrence(tx, stored.id, scheduledFor);
  const pings = await pingsOfOccurrence(tx, stored.id, { scheduledFor, limit: PINGS_SHOWN });
  return {
    occurrence,
    facts,
    runs,
    deadlines: await readDeadlines(tx, readable, occurrence, { runs, facts, projectId }),
    pings: await withPingKeys(tx, readable, pings, deps.zones),
    incidents: await incidentsOfOccurrence(tx, stored.id, scheduledFor),
    settledBy:
      occurrence.reason === 'operator' && facts?.settledAt != null
        ? await settledBy(tx, projectId, { slug: stored.slug, scheduledFor, settledAt: facts.settledAt })
        : null,
  };
}

const Whole: FC<{ view: JobView; whole: WholeOccurrence; refused: Settling | undefined }> = (props) => {
  const { view, whole, refused } = props;
  const { occurrence, deadlines, runs, pings, incidents } = whole;
  const { state } = occurrence;
  return (
    <div class="stack-l">
      <OccurrenceFacts view={view} whole={whole} />
      <section class="stack-s" aria-labelledby="deadlines">
        <h2 id="deadlines">Deadlines</h2>
        <TimeLine view={view} due={occurrence.scheduledFor} deadlines={deadlines} runs={runs} />
      </section>
      <section class="stack-s" aria-labelledby="runs">
        <h2 id="runs">Runs</h2>
        {runs.length === 0 ? <p class="soft">No run of it was heard.</p> : <RunTable view={view} runs={runs} />}
      </section>
      <section class="stack-s" aria-labelledby="pings">
        <h2 id="pings">Pings</h2>
        {pings.length === 0 ? (
          <p class="soft">No ping was about it.</p>
        ) : (
          <PingTable view={view} pings={pings} caption="Pings about this occurrence, newest first" withoutKey />
        )}
      </section>
      {incidents.length === 0 ? null : <Incidents view={view} incidents={incidents} />}
      {isCompleted(state) || state === 'expected' ? null : <Paying view={view} whole={whole} />}
      {view.mayEdit ? <SettleForm view={view} occurrence={occurrence} refused={refused} /> : null}
    </div>
  );
};

const RunTable: FC<{ view: JobView; runs: readonly Run[] }> = ({ view, runs }) => {
  const { zone, now } = view.job;
  return (
    <div class="card flush">
      <table class="folds">
        <caption class="unseen">Runs of this occurrence, in the order in which they came</caption>
        <thead>
          <tr>
            <th scope="col">Began</th>
            <th scope="col">Ended</th>
            <th scope="col">How</th>
            <th scope="col" class="num">
              Took
            </th>
            <th scope="col">Run id</th>
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <tr class={run.verdict === 'fail' ? 'is-trouble' : ''}>
              <td class="tight" data-name="began">
                {run.startedAt === null ? (
                  <span class="soft">not announced</span>
                ) : (
                  <Time at={run.startedAt} zone={zone} viewerZone={view.viewerZone} />
                )}
              </td>
              <td class="tight" data-name="ended">
                {run.endedAt === null ? (
                  <span class="soft">not heard of</span>
                ) : (
                  <Time at={run.endedAt} zone={zone} viewerZone={view.viewerZone} />
                )}
              </td>
              <td class="tight">
                {run.verdict ?? <span class="soft">no end yet</span>}
                {run.exitCode === null ? null : `, exit code ${run.exitCode}`}
              </td>
              <td class="num tight" data-name="took">
                {tookOf(run) ?? (run.startedAt === null ? '' : <Ago at={run.startedAt} now={now} />)}
              </td>
              <td>{run.rid === null ? <span class="soft">none</span> : <code>{run.rid}</code>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

function tookOf({ durationMs, startedAt, endedAt }: Run): string | null {
  if (durationMs !== null) return spokenMs(durationMs);
  return startedAt === null || endedAt === null ? null : spokenMs(Math.max(0, endedAt - startedAt));
}

const Incidents: FC<{ view: JobView; incidents: readonly ListingIncident[] }> = ({ view, incidents }) => (
  <section class="stack-s" aria-labelledby="incidents">
    <h2 id="incidents">Incidents</h2>
    <ul class="bare stack-s">
      {incidents.map(({ id, kind, openedAt, resolvedAt, hasLeft }) => (
        <li>
          <a href={`${view.projectPath}/incidents/${id}`}>
            Incident {id}: {view.job.json.name} {KIND_WORDS[kind]}
          </a>
          ,{' '}
          {resolvedAt === null ? (
            <b class="bad">open</b>
          ) : (
            <>
              over since <Time at={resolvedAt} zone={view.job.zone} viewerZone={view.viewerZone} />
            </>
          )}
          <span class="soft">
            , opened <Time at={openedAt} zone={view.job.zone} viewerZone={view.viewerZone} />
            {hasLeft ? '; this occurrence moved on to another incident' : ''}
          </span>
        </li>
      ))}
    </ul>
  </section>
);

const Paying: FC<{ view: JobView; whole: WholeOccurrence }> = ({ view, whole }) => {
  const { occurrence, deadlines } = whole;
  const isOver = deadlines.usefulUntil <= view.job.now;
  return (
    <section class="stack-s" aria-labelledby="pay">
      <h2 id="pay">{isOpen(occurrence.state) ? 'How to complete it' : 'How to complete it after all'}</h2>
      {isOver ? (
        <p class="soft">Its usefulness has ended: a run that is reported now is recorded as too late to be of use.</p>
      ) : null}
      {payLines(view, { key: occurrence.key, isOwed: occurrence.owed }).map(({ says, line }, i) => (
        <>
          <p class="small">{says}</p>
          <Copy id={`pay-${i}`} text={line} />
        </>
      ))}
    </section>
  );
};
