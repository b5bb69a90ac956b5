import type { FC } from 'hono/jsx';
import { formatInstant, type Instant } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import { momentText } from './words.ts';

/** An instant in the zone of the page, to the minute, its offset always shown. */
export const Moment: FC<{ at: Instant; shown: { readonly zone: Zone; readonly asOf: Instant } }> = ({ at, shown }) => (
  <time datetime={formatInstant(at).replace(/:\d\d(?:\.\d+)?Z/, 'Z')}>{momentText(at, shown.zone, shown.asOf)}</time>
);
