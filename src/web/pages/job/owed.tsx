import type { FC } from 'hono/jsx';
import type { Instant } from '../../../core/time.ts';
import type { OwedPage, OwedReading } from '../../../engine/reading-owed.ts';
import { StateBadge } from '../roll.tsx';
import { Ago, Time } from '../time.tsx';
import { Copy } from './copy.tsx';
import type { JobView } from './frame.tsx';
import { DueTime, rowClass } from './occurrence-table.tsx';
import { payLines } from './pay.ts';

/** So many are listed on the job's page. */
export const OWED_SHOWN = 20;

export type OwedProps = {
  readonly view: JobView;
  readonly page: OwedPage;
  /** An incident `backlog` is open: nothing is handed out until a person decides. */
  readonly isBacklog: boolean;
};

/** What the job still owes, what its policy makes of that, and what a person can do. */
export const Owed: FC<OwedProps> = ({ view, page, isBacklog }) => {
  const { missedRuns } = view.job.stored.definition;
  const [oldest] = page.owed;
  if (!oldest) return null;
  const count = page.next === null ? String(page.owed.length) : `more than ${page.owed.length}`;
  return (
    <section class="card stack" aria-labelledby="owed">
      <div class="row spread">
        <h2 id="owed">
          Owed <span class="count">{page.next === null ? page.owed.length : `${page.owed.length}+`}</span>
        </h2>
        {view.mayEdit && missedRuns === 'catch_up' ? (
          <Decision view={view} page={page} isBacklog={isBacklog} count={count} />
        ) : null}
      </div>
      <p class="soft">{meaning(view, page, isBacklog)}</p>
      <OwedTable view={view} owed={page.owed} />
      <details id="owed-pay" hx-morph-skip open={page.owed.length === 1}>
        <summary>How to pay it</summary>
        <div class="stack-s">
          {payLines(view, { key: oldest.key, isOwed: true }).map(({ says, line }, i) => (
            <>
              <p class="small">{says}</p>
              <Copy id={`owed-line-${i}`} text={line} />
            </>
          ))}
        </div>
      </details>
    </section>
  );
};

function meaning({ job }: JobView, page: OwedPage, isBacklog: boolean): string {
  if (job.stored.definition.missedRuns === 'coalesce')
    return 'One good run of the newest covers all that were missed before it. It is handed out to whoever asks; a plain ping of the next run covers it too.';
  const most = isBacklog
    ? 'More are owed than this job may catch up by itself, so nothing is handed out until you decide. '
    : '';
  const unconfirmed = page.owed.some(({ unconfirmed: is }) => is)
    ? ' Of what is unknown nobody can say whether it ran: it is handed out only after run.'
    : '';
  return `${most}Each is work of its own, and handed out to whoever asks, the oldest first, until it is done or no longer useful.${unconfirmed}`;
}

/** Run is offered where it changes something: what is owed and confirmed is handed out anyway. */
const Decision: FC<OwedProps & { count: string }> = ({ view, page, isBacklog, count }) => (
  <div class="row toolbar">
    {isBacklog || page.owed.some(({ unconfirmed }) => unconfirmed) ? (
      <form method="post" action={`${view.base}/backlog`}>
        <input type="hidden" name="decision" value="run" />
        <button type="submit" class="small" title="All of them may be handed out, the oldest first">
          Run all
        </button>
      </form>
    ) : null}
    <form method="post" action={`${view.base}/backlog`}>
      <input type="hidden" name="decision" value="skip" />
      <button
        type="submit"
        class="small danger"
        data-asks={`Skip ${count} owed ${count === '1' ? 'occurrence' : 'occurrences'}? They are recorded as skipped, and nobody will run them.`}
      >
        Skip all
      </button>
    </form>
  </div>
);

const OwedTable: FC<{ view: JobView; owed: readonly OwedReading[] }> = ({ view, owed }) => (
  <table class="folds">
    <caption class="unseen">Owed occurrences, oldest first</caption>
    <thead>
      <tr>
        <th scope="col">Due, {view.job.zone.name}</th>
        <th scope="col">State</th>
        <th scope="col">Handed out</th>
        <th scope="col">Useful until</th>
        {view.mayEdit ? <th scope="col">Settle by hand</th> : null}
      </tr>
    </thead>
    <tbody>
      {owed.map((one) => (
        <tr class={rowClass(one.state)}>
          <th scope="row" class="tight">
            <a href={`${view.base}/occurrences/${one.key}`}>
              <DueTime at={one.scheduledFor} view={view} />
            </a>{' '}
            <span class="soft small">
              <Ago at={one.scheduledFor} now={view.job.now} />
            </span>
          </th>
          <td class="tight">
            <StateBadge state={one.state} />
          </td>
          <td data-name="handed out">
            <HandOut runAfter={one.runAfter} now={view.job.now} />
          </td>
          <td data-name="useful until">
            {one.usefulUntil === null ? (
              <span class="soft">no end</span>
            ) : (
              <Time at={one.usefulUntil} zone={view.job.zone} viewerZone={view.viewerZone} />
            )}
          </td>
          {view.mayEdit ? (
            <td class="tight">
              <SettleButtons view={view} occurrence={one} />
            </td>
          ) : null}
        </tr>
      ))}
    </tbody>
  </table>
);

const HandOut: FC<{ runAfter: Instant | null; now: Instant }> = ({ runAfter, now }) => {
  if (runAfter === null) return <>after run</>;
  return runAfter <= now ? <>to whoever asks</> : <Ago at={runAfter} now={now} />;
};

const SettleButtons: FC<{ view: JobView; occurrence: OwedReading }> = ({ view, occurrence }) => (
  <form method="post" action={`${view.base}/occurrences/${occurrence.key}/settle`} class="inline">
    <input type="hidden" name="back" value="job" />
    <button type="submit" class="small" name="state" value="on_time" aria-label={`Mark as done: ${occurrence.key}`}>
      Mark as done
    </button>
    <button type="submit" class="small" name="state" value="skipped" aria-label={`Skip: ${occurrence.key}`}>
      Skip
    </button>
  </form>
);
