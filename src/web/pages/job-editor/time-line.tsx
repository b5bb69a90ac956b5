import type { FC } from 'hono/jsx';
import type { Instant } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import { spokenDuration, timeText } from '../time.tsx';
import type { Deadlines } from './preview.ts';

type Mark = { readonly at: Instant; readonly name: string; readonly means: string };

/** Where the first and the last mark stand, in per cent of the width. */
const FIRST = 6;
const LAST = 90;
const END = 99;
const LINE_Y = 58;

/** The deadlines as they are typed: a drawing that is not to scale, and the same as a list. */
export const DeadlineLine: FC<{ deadlines: Deadlines; zone: Zone | null }> = ({ deadlines, zone }) => {
  const marks = marksOf(deadlines);
  return (
    <div class="stack-s" id="deadline-line">
      <Drawing deadlines={deadlines} marks={marks} />
      <dl class="facts small">
        {marks.map(({ at, name, means }) => (
          <>
            <dt>{name}</dt>
            <dd>
              <span class="mono">
                {zone && deadlines.isKnown ? timeText(at, zone) : offsetText(at - deadlines.due)}
              </span>
              <span class="soft"> · {means}</span>
            </dd>
          </>
        ))}
        {Number.isFinite(deadlines.terms.usefulUntil) || deadlines.isHeartbeat ? null : (
          <>
            <dt>useful until</dt>
            <dd class="soft">no end: it is useful whenever it is done</dd>
          </>
        )}
      </dl>
    </div>
  );
};

/** Oldest first; what falls on one instant is one mark. */
function marksOf({ due, terms, nextDue, isHeartbeat }: Deadlines): readonly Mark[] {
  const { opensAt, startBy, graceEnd, usefulUntil, maxRuntimeMs } = terms;
  const all: readonly (Mark | null)[] = [
    isHeartbeat ? null : { at: opensAt, name: 'early', means: 'a ping from here on may belong to it' },
    {
      at: due,
      name: 'due',
      means: isHeartbeat ? 'one period after the last run: any ping before counts' : 'the run should begin',
    },
    startBy === null ? null : { at: startBy, name: 'start by', means: 'without a start by then people are called' },
    {
      at: graceEnd,
      name: 'deadline',
      means: 'done by then it is on time; after that people are called',
    },
    maxRuntimeMs === null
      ? null
      : {
          at: due + maxRuntimeMs,
          name: 'run limit',
          means: 'of a run that begins when due: it counts instead of the deadline',
        },
    Number.isFinite(usefulUntil) && !isHeartbeat
      ? { at: usefulUntil, name: 'useful until', means: 'a run that ends later is worth nothing' }
      : null,
    nextDue === null || isHeartbeat ? null : { at: nextDue, name: 'next', means: 'the next one is due' },
  ];
  const merged = new Map<Instant, Mark>();
  for (const mark of all.filter((one) => one !== null).sort((a, b) => a.at - b.at)) {
    const same = merged.get(mark.at);
    const joined = same && { at: mark.at, name: `${same.name}, ${mark.name}`, means: `${same.means}; ${mark.means}` };
    merged.set(mark.at, joined ?? mark);
  }
  return [...merged.values()];
}

const Drawing: FC<{ deadlines: Deadlines; marks: readonly Mark[] }> = ({ deadlines, marks }) => {
  const { due, terms } = deadlines;
  const step = (LAST - FIRST) / Math.max(1, marks.length - 1);
  const x = (at: Instant): number => {
    const i = marks.findIndex((mark) => mark.at >= at);
    return i === -1 ? END : Math.round((FIRST + i * step) * 10) / 10;
  };
  const end = Number.isFinite(terms.usefulUntil) && !deadlines.isHeartbeat ? x(terms.usefulUntil) : END;
  const from = deadlines.isHeartbeat ? 0 : x(terms.opensAt);
  return (
    <svg class="drawing time-line" height="104" aria-hidden="true">
      <Part from={from} to={x(due)} look="early" />
      <Part from={x(due)} to={x(terms.graceEnd)} look="good" />
      <Part from={x(terms.graceEnd)} to={end} look="tardy" />
      {end < END ? <Part from={end} to={END} look="gone" /> : null}
      {terms.maxRuntimeMs === null ? null : (
        <rect
          class="c-running"
          x={`${x(due)}%`}
          y={LINE_Y - 6}
          width={`${Math.max(0.6, x(due + terms.maxRuntimeMs) - x(due))}%`}
          height="3"
          rx="1.5"
        />
      )}
      {marks.map(({ at, name }, i) => {
        const [high, anchor] = [i % 2 === 1, i === 0 ? 'start' : i === marks.length - 1 ? 'end' : 'middle'] as const;
        const label = anchor === 'start' ? 0.5 : anchor === 'end' ? Math.min(END, x(at) + 6) : x(at);
        const y = high ? LINE_Y - 28 : LINE_Y + 24;
        return (
          <>
            <line class="tick" x1={`${x(at)}%`} x2={`${x(at)}%`} y1={LINE_Y - 9} y2={LINE_Y + 9} />
            <text class="name" x={`${label}%`} y={y} text-anchor={anchor}>
              {name}
            </text>
            <text x={`${label}%`} y={y + 13} text-anchor={anchor}>
              {at === due ? '0' : offsetText(at - due)}
            </text>
          </>
        );
      })}
    </svg>
  );
};

const Part: FC<{ from: number; to: number; look: 'early' | 'good' | 'tardy' | 'gone' }> = ({ from, to, look }) =>
  to <= from ? null : (
    <rect class={look} x={`${from}%`} y={LINE_Y - 2} width={`${Math.round((to - from) * 10) / 10}%`} height="4" />
  );

/** How far from the due instant. */
function offsetText(ms: number): string {
  if (ms === 0) return 'when due';
  return `${ms < 0 ? '−' : '+'}${spokenDuration(Math.round(Math.abs(ms) / 1000))}`;
}
