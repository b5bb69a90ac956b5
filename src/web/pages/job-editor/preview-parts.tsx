import type { FC } from 'hono/jsx';
import type { Zone } from '../../../core/zone.ts';
import { scheduleWords } from '../job/words.ts';
import { Ago, timeText } from '../time.tsx';
import { clockChangeSentences } from './clock-change.ts';
import type { Plan, Preview } from './preview.ts';

/** What the schedule means, beside its fields. */
export const SchedulePreview: FC<{ preview: Preview; viewerZone: Zone }> = ({ preview, viewerZone }) => {
  const { plan, zone, flaws } = preview;
  return (
    <div class="stack" id="schedule-preview" aria-live="polite">
      <h2>What this means</h2>
      {flaws.map(({ message }) => (
        <p class="wrong">{message}</p>
      ))}
      {plan && zone ? (
        <PlanText plan={plan} zone={zone} preview={preview} viewerZone={viewerZone} />
      ) : flaws.length > 0 ? null : (
        <p class="soft">
          {zone === null
            ? 'Choose a time zone, and the next occurrences are shown here.'
            : 'Write a schedule, and the next occurrences are shown here.'}
        </p>
      )}
    </div>
  );
};

const PlanText: FC<{ plan: Plan; zone: Zone; preview: Preview; viewerZone: Zone }> = ({
  plan,
  zone,
  preview: { now, isNewVersion },
  viewerZone,
}) => (
  <>
    <div class="stack-s">
      {plan.schedules.map((spec) => (
        <p>
          {scheduleWords(spec)}
          {'cron' in spec ? <span class="soft"> · {zone.name}</span> : null}
        </p>
      ))}
      <p class="soft">{weekText(plan)}</p>
    </div>
    {plan.next.length === 0 ? null : <NextTable plan={plan} zone={zone} viewerZone={viewerZone} now={now} />}
    {'heartbeat' in (plan.schedules[0] ?? {}) ? (
      <p class="soft">The first period begins when the job is made, the next one with each run that ends.</p>
    ) : (
      <div class="stack-s">
        {clockChangeSentences(plan.clockChange, zone).map((sentence) => (
          <p class={(plan.clockChange?.effects.length ?? 0) > 0 ? 'clock-change' : 'soft'}>{sentence}</p>
        ))}
      </div>
    )}
    {plan.dialect === null ? null : <p class="soft small">{sentence(plan.dialect)}</p>}
    {plan.warnings.length === 0 ? null : (
      <div class="notice stack-s">
        {plan.warnings.map((warning) => (
          <p>{sentence(warning)}</p>
        ))}
      </div>
    )}
    {isNewVersion ? (
      <p class="notice">
        Saving begins a new version of the schedule from that instant on. What is recorded stays. Occurrences that are
        due but still within their grace, and that the new schedule does not have, close as <em>skipped</em>{' '}
        (schedule_changed); those that are running, overdue or owed live on.
      </p>
    ) : null}
  </>
);

/** Warnings are parts of sentences, for logs and lists. */
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function weekText({ perWeek: { count, about }, schedules }: Plan): string {
  if ('heartbeat' in (schedules[0] ?? {})) return `At least ${count} ${count === 1 ? 'run' : 'runs'} a week.`;
  const text = count.toLocaleString('en');
  if (count === 0) return 'Not due in the next seven days.';
  return `${about ? 'About ' : ''}${text} ${count === 1 ? 'time' : 'times'} in the next seven days.`;
}

const NextTable: FC<{ plan: Plan; zone: Zone; viewerZone: Zone; now: number }> = ({ plan, zone, viewerZone, now }) => {
  const isOther = viewerZone.name !== zone.name;
  return (
    <table class="next-due folds">
      <caption class="unseen">The next {plan.next.length} occurrences</caption>
      <thead>
        <tr>
          <th scope="col">{zone.name}</th>
          {isOther ? <th scope="col">{viewerZone.name} (yours)</th> : null}
          <th scope="col">In</th>
        </tr>
      </thead>
      <tbody>
        {plan.next.map((at) => (
          <tr>
            <td data-name={zone.name}>
              <time datetime={new Date(at).toISOString()}>{timeText(at, zone)}</time>
            </td>
            {isOther ? (
              <td data-name={viewerZone.name}>
                <time datetime={new Date(at).toISOString()}>{timeText(at, viewerZone)}</time>
              </td>
            ) : null}
            <td class="soft">
              <Ago at={at} now={now} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
};
