import type { FC } from 'hono/jsx';
import type { State } from '../../../core/occurrence.ts';
import type { LocalTime } from '../../../core/zone.ts';
import type { Day } from '../../../engine/job-page-days.ts';
import { STATE_WORDS } from '../roll.tsx';
import type { JobView } from './frame.tsx';

/** Whole weeks from Monday on, at most; 53 and the days of this one. */
export const DAYS_SHOWN = 53 * 7;

/** The worst first: the end of a day is the worst of its ends, as far as it ended at all. */
const WORST: readonly State[] = [
  'overdue',
  'missed',
  'failed',
  'expired',
  'unknown',
  'late',
  'running',
  'on_time',
  'coalesced',
  'skipped',
  'expected',
];

/** Shapes in a field of 12 x 12, in the language of the roll: what ran is filled, what is absent is hollow. */
const SHAPES: Readonly<Record<State, string>> = {
  on_time: 'M1 1h10v10h-10z',
  late: 'M1 5h10v6h-10zM4 1h4v2h-4z',
  expired: 'M1 1h10v10h-10zM3.5 3.5v3h5v-3z',
  failed: 'M1 2.8l1.8-1.8 3.2 3.2 3.2-3.2 1.8 1.8-3.2 3.2 3.2 3.2-1.8 1.8-3.2-3.2-3.2 3.2-1.8-1.8 3.2-3.2z',
  missed: 'M1 1h10v10h-10zM3 3v6h6v-6z',
  overdue: 'M1 1h10v10h-10zM3 3v2.5h6v-2.5z',
  running: 'M2 1l8 5-8 5z',
  coalesced: 'M4 7h4v4h-4z',
  skipped: 'M1 5h10v2h-10z',
  unknown: 'M4 1h4v4h-4zM4 7h4v4h-4z',
  expected: 'M5 3h2v6h-2z',
};

const PITCH = 15;
const TOP = 18;
const LEFT = 30;
/** Pixels of a unit: the year fills a wide page, and a cell is large enough to be hit. */
const SCALE = 1.36;

/** Only the beginnings of a shape are absolute. */
const at = (shape: string, x: number, y: number): string =>
  shape.replace(
    /M([\d.]+) ([\d.]+)/g,
    (_, dx: string, dy: string) => `M${tenth(Number(dx) + x)} ${tenth(Number(dy) + y)}`,
  );
const tenth = (value: number): number => Math.round(value * 10) / 10;

export const worstOf = ({ counts }: Day): State | null => WORST.find((state) => (counts.get(state) ?? 0) > 0) ?? null;

const dateText = (date: LocalTime): string => new Date(date).toISOString().slice(0, 10);
const monthText = (date: LocalTime): string =>
  new Date(date).toLocaleDateString('en-GB', { month: 'short', timeZone: 'UTC' });
/** Monday is 0. */
const weekday = (date: LocalTime): number => (new Date(date).getUTCDay() + 6) % 7;

const countsText = ({ counts }: Day): string =>
  WORST.flatMap((state) => {
    const count = counts.get(state);
    return count === undefined ? [] : [`${count} ${STATE_WORDS[state]}`];
  }).join(', ');

/** The last year by local days in the job's zone, each a link to its occurrences; drawn, and as a table by months. */
export const Year: FC<{ view: JobView; days: readonly Day[] }> = ({ view, days }) => (
  <section class="stack-s" aria-labelledby="year">
    <h2 id="year">The last year</h2>
    <p class="small soft">
      One cell a day in {view.job.zone.name}; the worst end of the day gives its shape and colour.
    </p>
    <section class="newest-first year" aria-label="The year, drawn" tabindex={0}>
      <YearDrawing view={view} days={days} />
    </section>
    <details class="small" id="year-table" hx-morph-skip>
      <summary>The same as a table</summary>
      <Months view={view} days={days} />
    </details>
  </section>
);

/** For the mouse and the eye: the table has everything for the keyboard and the ear. */
const YearDrawing: FC<{ view: JobView; days: readonly Day[] }> = ({ view, days }) => {
  const [first] = days;
  const offset = first ? weekday(first.date) : 0;
  const placed = days.map((day, i) => ({
    ...day,
    state: worstOf(day),
    x: LEFT + Math.floor((i + offset) / 7) * PITCH,
    y: TOP + ((i + offset) % 7) * PITCH,
  }));
  const paths = new Map<State, string>();
  for (const { state, x, y } of placed) if (state) paths.set(state, (paths.get(state) ?? '') + at(SHAPES[state], x, y));
  const empty = placed.filter(({ state }) => state === null).map(({ x, y }) => `M${x + 5} ${y + 5}h2v2h-2z`);
  const width = LEFT + Math.ceil((days.length + offset) / 7) * PITCH;
  return (
    <svg
      width={width * SCALE}
      height={(TOP + 7 * PITCH) * SCALE}
      viewBox={`0 0 ${width} ${TOP + 7 * PITCH}`}
      aria-hidden="true"
    >
      {placed.map(({ date, x }, i) =>
        (i === 0 && new Date(date).getUTCDate() < 22) || new Date(date).getUTCDate() === 1 ? (
          <text x={x} y="11">
            {monthText(date)}
            {i === 0 || new Date(date).getUTCMonth() === 0 ? ` ${new Date(date).getUTCFullYear()}` : ''}
          </text>
        ) : null,
      )}
      {['Mon', 'Wed', 'Fri'].map((name, i) => (
        <text x="0" y={TOP + i * 2 * PITCH + 10}>
          {name}
        </text>
      ))}
      <path class="none" d={empty.join('')} />
      {[...paths].map(([state, d]) => (
        <path class={`c-${state}`} d={d} fill-rule="evenodd" />
      ))}
      {placed.map((day) =>
        day.state === null ? null : (
          <a href={`${view.base}/occurrences?day=${dateText(day.date)}`} tabindex={-1}>
            <rect x={day.x - 1} y={day.y - 1} width="14" height="14">
              <title>{`${dateText(day.date)}: ${countsText(day)}`}</title>
            </rect>
          </a>
        ),
      )}
    </svg>
  );
};

/** Ends that a month's row counts; the rest is in the sum. */
const COLUMNS: readonly State[] = ['on_time', 'late', 'failed', 'missed', 'skipped', 'unknown'];
const TROUBLE: ReadonlySet<State> = new Set(['overdue', 'missed', 'failed', 'expired', 'unknown', 'late']);

const Months: FC<{ view: JobView; days: readonly Day[] }> = ({ view, days }) => {
  const months = new Map<string, Day[]>();
  for (const day of days) {
    if (day.counts.size === 0) continue;
    const month = dateText(day.date).slice(0, 7);
    months.set(month, [...(months.get(month) ?? []), day]);
  }
  return (
    <div class="card flush">
      <table class="folds">
        <caption class="unseen">Occurrences by month in {view.job.zone.name}, and the days with trouble</caption>
        <thead>
          <tr>
            <th scope="col">Month</th>
            {COLUMNS.map((state) => (
              <th scope="col" class="num">
                {STATE_WORDS[state]}
              </th>
            ))}
            <th scope="col">Days with trouble</th>
          </tr>
        </thead>
        <tbody>
          {[...months].reverse().map(([month, own]) => (
            <tr>
              <th scope="row" class="tight">
                {month}
              </th>
              {COLUMNS.map((state) => (
                <td class="num" data-name={STATE_WORDS[state]}>
                  {own.reduce((sum, { counts }) => sum + (counts.get(state) ?? 0), 0)}
                </td>
              ))}
              <td>
                <TroubledDays view={view} days={own} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

/** So many days of a month are named: of a job that is in trouble every day, its occurrences say more. */
const NAMED = 10;

const TroubledDays: FC<{ view: JobView; days: readonly Day[] }> = ({ view, days }) => {
  const troubled = days.filter((day) => TROUBLE.has(worstOf(day) ?? 'expected'));
  if (troubled.length === 0) return <span class="soft">none</span>;
  return (
    <ul class="bare row">
      {troubled.slice(0, NAMED).map((day) => (
        <li>
          <a href={`${view.base}/occurrences?day=${dateText(day.date)}`}>{dateText(day.date).slice(8)}</a>{' '}
          <span class="soft">{STATE_WORDS[worstOf(day) ?? 'expected']}</span>
        </li>
      ))}
      {troubled.length > NAMED ? <li class="soft">and {troubled.length - NAMED} more</li> : null}
    </ul>
  );
};
