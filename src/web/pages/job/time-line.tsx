import type { FC } from 'hono/jsx';
import type { Run } from '../../../core/occurrence.ts';
import type { Instant } from '../../../core/time.ts';
import type { Deadlines } from '../../../engine/job-page.ts';
import { Ago, spokenDuration, timeText } from '../time.tsx';
import type { JobView } from './frame.tsx';
import { DueTime } from './occurrence-table.tsx';
import { spokenMs } from './words.ts';

/** One instant of the line, named for the drawing and explained in the list under it. */
type Mark = { readonly at: Instant; readonly name: string; readonly means: string };

export type TimeLineProps = {
  readonly view: JobView;
  readonly due: Instant;
  readonly deadlines: Deadlines;
  readonly runs: readonly Run[];
};

/**
 * The deadlines of one occurrence with what happened: a drawing that is not to scale, as a minute of grace and a month of
 * usefulness must both be seen, and the same as a list.
 */
export const TimeLine: FC<TimeLineProps> = (props) => {
  const { view, due, deadlines } = props;
  const marks = marksOf(due, deadlines, props.runs);
  return (
    <div class="stack">
      <Drawing {...props} marks={marks} />
      <dl class="facts">
        {marks.map(({ at, name, means }) => (
          <>
            <dt>{capital(name)}</dt>
            <dd>
              <DueTime at={at} view={view} />{' '}
              <span class="soft">
                <Ago at={at} now={view.job.now} /> · {means}
              </span>
            </dd>
          </>
        ))}
        {Number.isFinite(deadlines.usefulUntil) ? null : (
          <>
            <dt>Useful until</dt>
            <dd class="soft">no end: it is useful whenever it is done</dd>
          </>
        )}
      </dl>
    </div>
  );
};

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Oldest first; what falls on one instant is one mark. */
function marksOf(due: Instant, deadlines: Deadlines, runs: readonly Run[]): readonly Mark[] {
  const { opensAt, startBy, graceEnd, usefulUntil, maxRuntimeMs } = deadlines;
  const begun = runs.flatMap(({ startedAt }) => (startedAt !== null && startedAt < graceEnd ? [startedAt] : []));
  const limit = maxRuntimeMs === null || begun.length === 0 ? null : Math.max(...begun) + maxRuntimeMs;
  const all: readonly (Mark | null)[] = [
    { at: opensAt, name: 'opens', means: 'a ping from here on may belong to it' },
    { at: due, name: 'due', means: 'the run should begin' },
    startBy === null ? null : { at: startBy, name: 'start by', means: 'without a start by then it has not started' },
    {
      at: graceEnd,
      name: 'deadline',
      means:
        maxRuntimeMs === null
          ? 'done by then it is on time; after that people are called'
          : `done by then, or begun and done within ${spokenMs(maxRuntimeMs)}, it is on time`,
    },
    limit === null ? null : { at: limit, name: 'run limit', means: 'the run that has begun should be over' },
    Number.isFinite(usefulUntil)
      ? { at: usefulUntil, name: 'useful until', means: 'a run that ends later is worth nothing' }
      : null,
  ];
  const merged = new Map<Instant, Mark>();
  for (const mark of all.filter((one) => one !== null).sort((a, b) => a.at - b.at)) {
    const same = merged.get(mark.at);
    merged.set(
      mark.at,
      same ? { ...mark, name: `${same.name}, ${mark.name}`, means: `${same.means}; ${mark.means}` } : mark,
    );
  }
  return [...merged.values()];
}

/** Where the first and the last mark stand, in per cent of the width: what lies before and after them is squeezed beside. */
const FIRST = 4;
const LAST = 89;
const END = 99;

/** Marks at equal distances; between two of them time goes evenly. */
function scaleOf(marks: readonly Mark[]): (at: Instant) => number {
  const step = (LAST - FIRST) / Math.max(1, marks.length - 1);
  return (at) => {
    const next = marks.findIndex((mark) => mark.at > at);
    const before = marks[next === -1 ? marks.length - 1 : next - 1];
    const after = marks[next];
    if (!before) return FIRST / 2;
    const x = FIRST + marks.indexOf(before) * step;
    if (!after) return at === before.at ? x : (LAST + END) / 2;
    return Math.round((x + ((at - before.at) / (after.at - before.at)) * step) * 10) / 10;
  };
}

const LINE_Y = 58;

const Drawing: FC<TimeLineProps & { marks: readonly Mark[] }> = ({ view, due, deadlines, runs, marks }) => {
  const x = scaleOf(marks);
  const { now, zone } = view.job;
  const end = Number.isFinite(deadlines.usefulUntil) ? x(deadlines.usefulUntil) : END;
  return (
    <svg class="drawing time-line" height="104" aria-hidden="true">
      <Part from={x(deadlines.opensAt)} to={x(due)} look="early" />
      <Part from={x(due)} to={x(deadlines.graceEnd)} look="good" />
      <Part from={x(deadlines.graceEnd)} to={end} look="tardy" />
      {end < END ? <Part from={end} to={END} look="gone" /> : null}
      {runs.map((run) => (
        <RunBar run={run} x={x} now={now} />
      ))}
      {marks.map(({ at, name }, i) => (
        <>
          <line class="tick" x1={`${x(at)}%`} x2={`${x(at)}%`} y1={LINE_Y - 9} y2={LINE_Y + 9} />
          <Label
            x={x(at)}
            y={i % 2 === 0 ? LINE_Y + 24 : LINE_Y - 28}
            anchor={i === 0 ? 'start' : 'middle'}
            name={name}
            text={at === due ? timeText(due, zone).slice(11) : offsetText(at - due)}
          />
        </>
      ))}
      <line class="now" x1={`${x(now)}%`} x2={`${x(now)}%`} y1="12" y2={LINE_Y + 12} />
      <text
        class="now"
        x={`${x(now)}%`}
        y="9"
        text-anchor={x(now) > LAST ? 'end' : x(now) < FIRST ? 'start' : 'middle'}
      >
        now
      </text>
    </svg>
  );
};

const Part: FC<{ from: number; to: number; look: 'early' | 'good' | 'tardy' | 'gone' }> = ({ from, to, look }) =>
  to <= from ? null : (
    <rect class={look} x={`${from}%`} y={LINE_Y - 2} width={`${Math.round((to - from) * 10) / 10}%`} height="4" />
  );

/** From its start (without one, its end) to its end, or until now. */
const RunBar: FC<{ run: Run; x: (at: Instant) => number; now: Instant }> = ({ run, x, now }) => {
  const from = x(run.startedAt ?? run.endedAt ?? now);
  const to = x(run.endedAt ?? now);
  const look = run.endedAt === null ? 'c-running' : run.verdict === 'fail' ? 'c-failed' : 'c-on_time';
  const width = Math.max(0.6, Math.round((to - from) * 10) / 10);
  return <rect class={look} x={`${from}%`} y={LINE_Y - 6} width={`${width}%`} height="12" rx="2" />;
};

const Label: FC<{ x: number; y: number; anchor: 'start' | 'middle'; name: string; text: string }> = (label) => {
  const { x, y, anchor, name, text } = label;
  return (
    <>
      <text class="name" x={`${x}%`} y={y} text-anchor={anchor}>
        {name}
      </text>
      <text x={`${x}%`} y={y + 13} text-anchor={anchor}>
        {text}
      </text>
    </>
  );
};

/** How far from the due instant. */
function offsetText(ms: number): string {
  return `${ms < 0 ? '−' : '+'}${spokenDuration(Math.round(Math.abs(ms) / 1000))}`;
}
