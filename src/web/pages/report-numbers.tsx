import type { Child, FC } from 'hono/jsx';
import type { z } from 'zod';
import type { Zone } from '../../core/zone.ts';
import type { reportNumbersSchema } from '../api/report-schemas.ts';
import { spokenDuration, Time } from './time.tsx';

type Numbers = z.infer<typeof reportNumbersSchema>;
type Tally = Numbers['occurrences'];

const WORDS: readonly (readonly [keyof Tally, string])[] = [
  ['on_time', 'on time'],
  ['late', 'late'],
  ['expired', 'too late'],
  ['failed', 'failed'],
  ['missed', 'missed'],
  ['overdue', 'overdue'],
  ['coalesced', 'covered by a later run'],
  ['skipped', 'skipped'],
  ['unknown', 'unknown'],
  ['pending', 'not due to be done yet'],
];

/** The numbers of a report, as the mail has them. */
export const ReportNumbers: FC<{ numbers: Numbers; zone: Zone; jobHref: (slug: string) => string }> = ({
  numbers,
  zone,
  jobHref,
}) => {
  const { occurrences, period, before, jobs, worst_jobs: worst, owed, incidents, clock_changes: changes } = numbers;
  const link = (slug: string) => <a href={jobHref(slug)}>{slug}</a>;
  return (
    <div class="stack">
      <section class="card stack-s">
        <h2>
          {period.name}
          {period.is_complete ? '' : ' so far'}: {onTimeText(occurrences)}
        </h2>
        <p>
          {occurrences.due} due; {tallyText(occurrences)}.{' '}
          {before ? `${before.name}: ${before.occurrences ? onTimeText(before.occurrences) : 'no jobs yet'}.` : ''}
        </p>
        <p class="soft">
          {jobs.total} jobs: {jobs.well} well, {jobs.in_trouble} with something that was not on time,{' '}
          {jobs.without_data} without data. As of <Time at={Date.parse(numbers.as_of)} zone={zone} />.
        </p>
      </section>
      {worst.length === 0 ? null : (
        <Rows title="Worst jobs" heads={['Job', 'On time', 'What became of the rest']}>
          {worst.map((job) => (
            <tr>
              <th scope="row">{link(job.job)}</th>
              <td class="num">{shareText(job.occurrences)}</td>
              <td>{tallyText(job.occurrences)}</td>
            </tr>
          ))}
        </Rows>
      )}
      {owed.length === 0 ? null : (
        <Rows title="Owed now" heads={['Job', 'Runs', 'Oldest']}>
          {owed.map((one) => (
            <tr>
              <th scope="row">{link(one.job)}</th>
              <td class="num">
                {one.count}
                {one.unconfirmed > 0 ? ` + ${one.unconfirmed} unconfirmed` : ''}
              </td>
              <td>
                {one.oldest === null ? '' : <code>{one.oldest.replace('T', ' ')}</code>}
                {one.needs_decision ? ' waits for run or skip' : ''}
              </td>
            </tr>
          ))}
        </Rows>
      )}
      <div class="columns">
        <section class="card stack-s">
          <h2>Incidents</h2>
          <p>
            {Object.entries(incidents.opened)
              .map(([kind, count]) => `${count} ${kind.replaceAll('_', ' ')}`)
              .join(', ') || 'None opened'}
            . {incidents.still_open} still open.
          </p>
          {incidents.longest === null ? null : (
            <p>
              The longest: {link(incidents.longest.job)} {incidents.longest.kind.replaceAll('_', ' ')},{' '}
              {spokenDuration(incidents.longest.seconds)}.
            </p>
          )}
        </section>
        <section class="card stack-s">
          <h2>Schedule edits</h2>
          {numbers.schedule_edits.length === 0 ? <p>None.</p> : null}
          <ul class="bare stack-s">
            {numbers.schedule_edits.map((edit) => (
              <li>
                <Time at={Date.parse(edit.at)} zone={zone} /> {link(edit.job)}, {edit.actor}: {edit.changes.join('; ')}
              </li>
            ))}
          </ul>
        </section>
        <section class="card stack-s">
          <h2>Clock changes to come</h2>
          {changes.length === 0 ? <p>None within 35 days.</p> : null}
          <ul class="bare stack-s">
            {changes.map((change) => (
              <li>
                {change.zone}: {change.from} becomes {change.to} ({change.jobs} jobs)
                <ul>
                  {change.touched.map(({ job, effects }) => (
                    <li>
                      {link(job)}: {effects.join('; ')}
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        </section>
      </div>
    </div>
  );
};

const Rows: FC<{ title: string; heads: readonly string[]; children?: Child }> = ({ title, heads, children }) => (
  <section class="card flush">
    <table>
      <caption>{title}</caption>
      <thead>
        <tr>
          {heads.map((head, index) => (
            <th scope="col" class={index === 1 ? 'num' : ''}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </section>
);

function onTimeText(tally: Tally): string {
  if (tally.on_time_share !== null) return `${shareText(tally)} on time`;
  return tally.due === 0 ? 'nothing was due' : 'nothing that counts';
}

/** Never rounded up to 100 %. */
function shareText({ on_time_share: share }: Tally): string {
  return share === null ? 'nothing counted' : `${(Math.floor(share * 1000) / 10).toFixed(1)} %`;
}

function tallyText(tally: Tally): string {
  const parts = WORDS.flatMap(([name, word]) => (Number(tally[name]) > 0 ? [`${tally[name]} ${word}`] : []));
  return parts.length === 0 ? 'nothing was due' : parts.join(', ');
}
