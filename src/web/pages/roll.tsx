import type { FC } from 'hono/jsx';
import type { State } from '../../core/occurrence.ts';

/** One cell of a roll. */
export type RollCell = {
  /** The occurrence key. */
  readonly key: string;
  readonly state: State;
  /** It ran more often than it stands for. */
  readonly twice?: boolean;
};

/** Each state by a shape of its own in a field of 8 x 20, so that colour is never needed: what ran is filled, what is absent is hollow. */
export const SHAPES: Readonly<Record<State, string>> = {
  // A full bar.
  on_time: 'M1 3h6v14h-6z',
  // A bar that begins late: the upper third is missing.
  late: 'M1 9h6v8h-6zM3 4h2v3h-2z',
  // A bar with nothing in it.
  expired: 'M1 3h6v14h-6zM2.6 4.6v6.4h2.8v-6.4z',
  // A cross.
  failed: 'M1 4.2l1.6-1.4 1.4 2.8 1.4-2.8 1.6 1.4-2 5.8 2 5.8-1.6 1.4-1.4-2.8-1.4 2.8-1.6-1.4 2-5.8z',
  // The frame of what is not there.
  missed: 'M1 3h6v14h-6zM2.4 4.4v11.2h3.2v-11.2z',
  // A frame that fills up with time.
  overdue: 'M1 3h6v14h-6zM2.4 4.4v3.6h3.2v-3.6z',
  // Going on: an arrow.
  running: 'M1 4l6 6-6 6z',
  // Covered by a later one: a small square at the foot.
  coalesced: 'M2 13h4v4h-4z',
  // A dash.
  skipped: 'M1 9h6v2h-6z',
  // Two dots: nobody knows.
  unknown: 'M2 5h4v4h-4zM2 11h4v4h-4z',
  // To come: a thin line.
  expected: 'M3.4 6h1.2v8h-1.2z',
};

/** Ends as people say them. */
export const STATE_WORDS: Readonly<Record<State, string>> = {
  on_time: 'on time',
  late: 'late',
  expired: 'too late to be of use',
  failed: 'failed',
  missed: 'missed',
  overdue: 'overdue',
  running: 'running',
  coalesced: 'covered by a later run',
  skipped: 'skipped',
  unknown: 'unknown',
  expected: 'to come',
};

const PITCH = 10;
const HEIGHT = 20;
/** Above the field: more runs than there should be. */
const TWICE = 'M2.5 0h3v2h-3z';

/** Only the beginnings of a shape are absolute. */
const at = (shape: string, index: number): string =>
  shape.replace(/M([\d.]+)/g, (_, x: string) => `M${Math.round((Number(x) + index * PITCH) * 10) / 10}`);

/** "28 on time, 1 late, 1 missed": what a roll says, for those who do not see it. */
export function rollSummary(cells: readonly RollCell[]): string {
  const counts = new Map<State, number>();
  for (const { state } of cells) counts.set(state, (counts.get(state) ?? 0) + 1);
  const parts = (Object.keys(SHAPES) as State[]).flatMap((state) => {
    const count = counts.get(state);
    return count === undefined ? [] : [`${count} ${STATE_WORDS[state]}`];
  });
  const twice = cells.filter((cell) => cell.twice).length;
  if (twice > 0) parts.push(`${twice} ran more than once`);
  return parts.length === 0 ? 'nothing yet' : parts.join(', ');
}

/**
 * The roll: one cell an occurrence, oldest first, what is to come on the right. One path a state, so that a page of fifty
 * is light. `label` says whose it is; with `href` each cell is a link, with its key and state as its name.
 */
export const Roll: FC<{ cells: readonly RollCell[]; label: string; href?: (cell: RollCell) => string }> = ({
  cells,
  label,
  href,
}) => {
  const paths = new Map<string, string>();
  const add = (look: string, shape: string): void => void paths.set(look, (paths.get(look) ?? '') + shape);
  cells.forEach(({ state, twice }, index) => {
    add(state, at(SHAPES[state], index));
    if (twice) add('twice', at(TWICE, index));
  });
  const width = Math.max(cells.length, 1) * PITCH - 2;
  return (
    <svg
      class="roll"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role={href ? 'group' : 'img'}
      aria-label={`${label}: ${rollSummary(cells)}`}
    >
      {[...paths].map(([look, d]) => (
        <path class={`c-${look}`} d={d} fill-rule="evenodd" />
      ))}
      {href
        ? cells.map((cell, index) => (
            <a href={href(cell)} aria-label={cellText(cell)}>
              <rect x={index * PITCH - 1} y="0" width={PITCH} height={HEIGHT} fill="transparent">
                <title>{cellText(cell)}</title>
              </rect>
            </a>
          ))
        : null}
    </svg>
  );
};

const cellText = ({ key, state, twice }: RollCell): string =>
  `${key.replace('T', ' ')} ${STATE_WORDS[state]}${twice ? ', ran more than once' : ''}`;

/** The shape of one state, beside its word. */
export const Glyph: FC<{ state: State }> = ({ state }) => (
  <svg class="glyph" viewBox="0 0 8 20" aria-hidden="true">
    <path class={`c-${state}`} d={SHAPES[state]} fill-rule="evenodd" />
  </svg>
);

/** Glyph and word of the end of an occurrence. */
export const StateBadge: FC<{ state: State }> = ({ state }) => (
  <span class={`badge ${state}`}>
    <Glyph state={state} />
    {STATE_WORDS[state]}
  </span>
);

/** What the shapes mean. */
export const RollLegend: FC = () => (
  <ul class="legend" aria-label="What the shapes mean">
    {(Object.keys(SHAPES) as State[]).map((state) => (
      <li>
        <Glyph state={state} /> {STATE_WORDS[state]}
      </li>
    ))}
    <li>
      <svg class="glyph" viewBox="0 0 8 20" aria-hidden="true">
        <path class="c-on_time" d={SHAPES.on_time} />
        <path class="c-twice" d={TWICE} />
      </svg>{' '}
      ran more than once
    </li>
  </ul>
);
