import type { FC } from 'hono/jsx';
import { type State, states } from '../../core/occurrence.ts';
import { type RollCell, rollSummary, SHAPES, STATE_WORDS } from '../pages/roll.tsx';

// A page has a hundred rolls: each shape is drawn once for all of them, and a roll is a stroke a state, painted with its
// shape. A healthy one is forty bytes. One unit is a cell.

const nameOf = (state: State): number => states.indexOf(state);

/** The shapes that the rolls and words of a page refer to. Once a page, before them. */
export const RollShapes: FC = () => (
  <svg class="unseen" aria-hidden="true">
    {states.map((state) => (
      <symbol id={`s${nameOf(state)}`} viewBox="0 0 8 20">
        <path class={`c-${state}`} d={SHAPES[state]} fill-rule="evenodd" />
      </symbol>
    ))}
    {states.map((state) => (
      <pattern id={`p${nameOf(state)}`} width="1" height="2" viewBox="0 0 10 20" patternUnits="userSpaceOnUse">
        <path class={`c-${state}`} d={SHAPES[state]} fill-rule="evenodd" />
      </pattern>
    ))}
  </svg>
);

/** A roll, oldest first, what is to come on the right; a dot above what ran more than once. Its row says whose it is. */
export const PublicRoll: FC<{ cells: readonly RollCell[] }> = ({ cells }) => (
  <svg class="roll" viewBox={`0 0 ${Math.max(cells.length, 1)} 2`} role="img" aria-label={rollSummary(cells)}>
    {states.map((state) => {
      const d = strokeOf(cells, (cell) => cell.state === state);
      return d === '' ? null : <path stroke={`url(#p${nameOf(state)})`} d={d} />;
    })}
    <Twice cells={cells} />
  </svg>
);

const Twice: FC<{ cells: readonly RollCell[] }> = ({ cells }) => {
  const d = cells.map(({ twice }, i) => (twice ? `M${i}.2 0h.4v.2h-.4z` : '')).join('');
  return d === '' ? null : <path class="c-twice" d={d} />;
};

/** The shape of one state, beside its word. */
export const PublicGlyph: FC<{ state: State }> = ({ state }) => (
  <svg class="glyph" aria-hidden="true">
    <use href={`#s${nameOf(state)}`} />
  </svg>
);

/** What the shapes mean. */
export const PublicLegend: FC = () => (
  <ul class="legend">
    {states.map((state) => (
      <li>
        <PublicGlyph state={state} /> {STATE_WORDS[state]}
      </li>
    ))}
    <li>a dot above: ran more than once</li>
  </ul>
);

/** A line through the middle of every run of cells of that kind: `M0 1h9m1 0h2`. */
function strokeOf(cells: readonly RollCell[], isOf: (cell: RollCell) => boolean): string {
  let path = '';
  let end = 0;
  for (let i = 0; i < cells.length; ) {
    let j = i;
    while (j < cells.length && isOf(cells[j] as RollCell)) j += 1;
    if (j > i) {
      path += path === '' ? `M${i} 1` : `m${i - end} 0`;
      path += `h${j - i}`;
      end = j;
    }
    i = Math.max(j, i + 1);
  }
  return path;
}
