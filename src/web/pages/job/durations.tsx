import type { FC } from 'hono/jsx';
import type { TimedRun } from '../../../store/job-page.ts';
import { timeText } from '../time.tsx';
import type { JobView } from './frame.tsx';
import { spokenMs } from './words.ts';

/** So many runs are plotted. */
export const RUNS_SHOWN = 200;

/** What is said of the lengths of runs, in milliseconds. `sorted` is ascending and not empty. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** How long the last runs took, oldest on the left, with the median and the length that 95 % stay within. */
export const Durations: FC<{ view: JobView; runs: readonly TimedRun[] }> = ({ view, runs }) => {
  const [first] = runs;
  const last = runs.at(-1);
  return (
    <section class="stack-s" aria-labelledby="durations">
      <h2 id="durations">How long runs take</h2>
      {first && last ? (
        <Plot view={view} runs={runs} first={first} last={last} />
      ) : (
        <p class="soft">
          Nothing to plot yet: a run is timed when it sends <code>/start</code> and then how it ended, or{' '}
          <code>dur=</code>.
        </p>
      )}
    </section>
  );
};

/** Per cent of the width: the words of the axis stand before it. */
const LEFT = 14;
const RIGHT = 92;
const TOP = 16;
const HEIGHT = 120;
const BOTTOM = TOP + HEIGHT;

const Plot: FC<{ view: JobView; runs: readonly TimedRun[]; first: TimedRun; last: TimedRun }> = (plot) => {
  const { view, runs, first, last } = plot;
  const good = runs.filter(({ verdict }) => verdict === 'success');
  const timed = good.length > 0 ? good : runs;
  const sorted = timed.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const [median, p95] = [percentile(sorted, 0.5), percentile(sorted, 0.95)];
  const longest = Math.max(...runs.map(({ tookMs }) => tookMs));
  // One run that hung for a day must not press all others to the floor: it stands at the top, as what it is.
  const most = niceAbove(longest > p95 * 4 ? p95 * 2 : longest);
  const y = (ms: number): number => tenth(BOTTOM - (Math.min(ms, most) / most) * HEIGHT);
  const x = (i: number): number => tenth(LEFT + (runs.length === 1 ? 0.5 : i / (runs.length - 1)) * (RIGHT - LEFT));
  const dots = runs.map((run, i) => ({ ...run, x: x(i), y: y(run.tookMs), isCut: run.tookMs > most }));
  const failed = runs.length - good.length;
  const cut = dots.filter(({ isCut }) => isCut).length;
  const summary = [
    `${runs.length === 1 ? 'One run' : `The last ${runs.length} runs`}: median ${spokenMs(median)}, 95 % within ${spokenMs(p95)}`,
    `the longest ${spokenMs(longest)}`,
    ...(failed > 0 ? [`${failed} failed (×)`] : []),
    ...(cut > 0 ? [`${cut} longer than the scale (▲)`] : []),
  ].join(', ');
  return (
    <figure class="plot">
      <svg class="drawing" height={BOTTOM + 22} role="img" aria-label={summary}>
        {[0, most / 2, most].map((ms) => (
          <>
            <line class="axis" x1="0" x2="100%" y1={y(ms)} y2={y(ms)} />
            <text x="0" y={y(ms) - 3}>
              {ms === 0 ? '0' : spokenMs(ms)}
            </text>
          </>
        ))}
        <svg x="0" y="0" width="100%" height={BOTTOM} viewBox={`0 0 100 ${BOTTOM}`} preserveAspectRatio="none">
          <path
            class="dots"
            d={dots
              .filter((dot) => dot.verdict === 'success' && !dot.isCut)
              .map(dotAt)
              .join('')}
          />
        </svg>
        {dots.map((dot) =>
          dot.verdict === 'success' && !dot.isCut ? null : (
            <text class={dot.verdict === 'fail' ? 'cross' : 'cut'} x={`${dot.x}%`} y={dot.y + 4} text-anchor="middle">
              {dot.isCut ? '▲' : '×'}
            </text>
          ),
        )}
        <line class="p95" x1={`${LEFT}%`} x2="100%" y1={y(p95)} y2={y(p95)} />
        <line class="median" x1={`${LEFT}%`} x2="100%" y1={y(median)} y2={y(median)} />
        <text class="over" x="100%" y={y(p95) - 4} text-anchor="end">
          95 %
        </text>
        <text class="over" x="100%" y={y(median) + 13} text-anchor="end">
          median
        </text>
        <text x={`${LEFT}%`} y={BOTTOM + 16}>
          {timeText(first.scheduledFor, view.job.zone)}
        </text>
        {runs.length > 1 ? (
          <text x="100%" y={BOTTOM + 16} text-anchor="end">
            {timeText(last.scheduledFor, view.job.zone)}
          </text>
        ) : null}
      </svg>
      <figcaption class="small soft">
        {summary}.{good.length > 0 && failed > 0 ? ' Median and 95 % are of those that went well.' : ''}
      </figcaption>
    </figure>
  );
};

/** A line of no length with round ends: a dot of the same size however wide the drawing is stretched. */
const dotAt = ({ x, y }: { readonly x: number; readonly y: number }): string => `M${x} ${y}h0`;
const tenth = (value: number): number => Math.round(value * 10) / 10;

/** Lengths that people read easily, and so are their halves, in seconds. */
const STEPS = [1, 2, 4, 10, 20, 30, 60, 120, 240, 600, 1200, 2400, 3600, 7200, 14_400, 21_600, 43_200, 86_400];

/** The next such length above, in milliseconds. */
function niceAbove(ms: number): number {
  const seconds = STEPS.find((step) => step * 1000 >= ms);
  return seconds === undefined ? Math.ceil(ms / 172_800_000) * 172_800_000 : seconds * 1000;
}
