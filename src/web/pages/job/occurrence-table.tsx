import type { FC } from 'hono/jsx';
import { isCompleted, type State } from '../../../core/occurrence.ts';
import { formatInstant, type Instant } from '../../../core/time.ts';
import { UTC_TABLE, type Zone, zoneOf } from '../../../core/zone.ts';
import type { OccurrenceReading } from '../../../engine/reading.ts';
import { StateBadge } from '../roll.tsx';
import { Ago, Time, timeText } from '../time.tsx';
import type { JobView } from './frame.tsx';
import { isHeartbeat } from './load.ts';
import { passOf, reasonWords, spokenMs } from './words.ts';

const UTC: Zone = zoneOf(UTC_TABLE);

/** How loud a row of a table is. */
export function rowClass(state: State): string {
  if (state === 'failed' || state === 'missed' || state === 'overdue') return 'is-trouble';
  return state === 'late' || state === 'expired' ? 'is-late' : '';
}

/** An instant in the job's zone; of a repeated hour also which pass of it. */
export const DueTime: FC<{ at: Instant; view: JobView }> = ({ at, view }) => {
  const { zone } = view.job;
  const pass = passOf(at, zone);
  return (
    <>
      <Time at={at} zone={zone} viewerZone={view.viewerZone} />
      {pass === null ? null : <span class="tag">{pass} pass</span>}
    </>
  );
};

/** The zones in which a table shows when something was due, beside the job's own: UTC and the reader's, each once. */
export function otherZones({ job, viewerZone }: JobView): readonly { readonly name: string; readonly zone: Zone }[] {
  const own = job.zone.name;
  return [
    ...(own === 'UTC' ? [] : [{ name: 'UTC', zone: UTC }]),
    ...(viewerZone.name === own || viewerZone.name === 'UTC' ? [] : [{ name: viewerZone.name, zone: viewerZone }]),
  ];
}

/** Occurrences, each a link to its own page. */
export const OccurrenceTable: FC<{ view: JobView; occurrences: readonly OccurrenceReading[]; caption: string }> = ({
  view,
  occurrences,
  caption,
}) => {
  // A column that says the same as the job's own time says nothing.
  const isOther = (zone: Zone) =>
    occurrences.some(({ scheduledFor: at }) => zone.offsetAt(at) !== view.job.zone.offsetAt(at));
  const others = otherZones(view).filter(({ zone }) => zone === UTC || isOther(zone));
  return (
    <div class="card flush">
      <table class="folds">
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Due, {view.job.zone.name}</th>
            {others.map(({ name }) => (
              <th scope="col">{name}</th>
            ))}
            <th scope="col">State</th>
            <th scope="col" class="num">
              Took
            </th>
            <th scope="col">Remarks</th>
          </tr>
        </thead>
        <tbody>
          {occurrences.map((one) => (
            <tr class={rowClass(one.state)}>
              <th scope="row" class="tight">
                <a href={`${view.base}/occurrences/${one.key}`}>
                  <DueTime at={one.scheduledFor} view={view} />
                </a>
              </th>
              {others.map(({ name, zone }) => (
                <td class="tight soft" data-name={name}>
                  <time datetime={formatInstant(one.scheduledFor)}>{timeText(one.scheduledFor, zone)}</time>
                </td>
              ))}
              <td class="tight">
                <StateBadge state={one.state} />
              </td>
              <td class="num tight" {...(one.durationMs === null ? {} : { 'data-name': 'took' })}>
                {one.durationMs === null ? '' : spokenMs(one.durationMs)}
              </td>
              <td>
                <Remarks view={view} occurrence={one} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

/** When its run ended, where the due instant beside it would mislead: of a heartbeat, and while that is to come. */
function endBeforeDue({ job }: JobView, { state, scheduledFor, settledAt }: OccurrenceReading): Instant | null {
  const hasRun = isCompleted(state) || state === 'failed';
  return hasRun && (isHeartbeat(job) || scheduledFor > job.now) ? settledAt : null;
}

/** Why it is in its state, and what is odd about it. */
const Remarks: FC<{ view: JobView; occurrence: OccurrenceReading }> = ({ view, occurrence }) => {
  const { reason, owed, completions, standsFor, coveredBy, note } = occurrence;
  const endedAt = endBeforeDue(view, occurrence);
  const parts = [
    ...(endedAt === null
      ? []
      : [
          <span>
            ended <Ago at={endedAt} now={view.job.now} />,{' '}
            <Time at={endedAt} zone={view.job.zone} viewerZone={view.viewerZone} />
          </span>,
        ]),
    ...(owed ? [<b class="bad">owed</b>] : []),
    ...(reason === null ? [] : [<span>{reasonWords(reason)}</span>]),
    ...(note === null || note === '' ? [] : [<q>{note}</q>]),
    ...(coveredBy === null
      ? []
      : [
          <span>
            covered by <a href={`${view.base}/occurrences/${coveredBy}`}>{coveredBy.replace('T', ' ')}</a>
          </span>,
        ]),
    ...(completions > standsFor ? [<span class="late">ran {completions} times</span>] : []),
    ...(standsFor > 1 ? [<span>stands for {standsFor} local times</span>] : []),
  ];
  return parts.length === 0 ? null : <span class="remarks">{parts}</span>;
};
