import type { FC } from 'hono/jsx';
import type { NamedStretch } from '../../../core/calendar.ts';
import type { Instant } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import { spokenMs } from '../job/words.ts';
import { Ago, Time } from '../time.tsx';

/** Stretches in the zone of the window, and in that of the person who looks. */
export const StretchTable: FC<{
  stretches: readonly NamedStretch[];
  zone: Zone;
  viewerZone: Zone;
  now: Instant;
  /** Beside a form: the other zone stands under the first, and what can be read from the rest is left out. */
  isNarrow?: boolean;
}> = ({ stretches, zone, viewerZone, now, isNarrow = false }) => {
  const isOther = viewerZone.name !== zone.name;
  const isNamed = stretches.some(({ summary }) => summary !== '');
  return (
    <table class="next-due folds">
      <caption class="unseen">
        {stretches.length === 1 ? 'The next window' : `The next ${stretches.length} windows`}
      </caption>
      <thead>
        <tr>
          <th scope="col">From, {zone.name}</th>
          <th scope="col">Until</th>
          {isOther && !isNarrow ? <th scope="col">From, {viewerZone.name} (yours)</th> : null}
          <th scope="col">Lasts</th>
          {isNamed ? <th scope="col">Event</th> : null}
          {isNarrow ? null : <th scope="col">In</th>}
        </tr>
      </thead>
      <tbody>
        {stretches.map(({ from, until, summary }) => (
          <tr>
            <td data-name="From">
              <Time at={from} zone={zone} viewerZone={viewerZone} />
              {isOther && isNarrow ? (
                <div class="soft small">
                  <Time at={from} zone={viewerZone} /> {viewerZone.name}
                </div>
              ) : null}
            </td>
            <td data-name="Until">
              <Time at={until} zone={zone} viewerZone={viewerZone} />
            </td>
            {isOther && !isNarrow ? (
              <td data-name={`From, ${viewerZone.name}`}>
                <Time at={from} zone={viewerZone} />
              </td>
            ) : null}
            <td data-name="Lasts">{spokenMs(until - from)}</td>
            {isNamed ? <td class="wraps">{summary}</td> : null}
            {isNarrow ? null : <td class="soft">{from <= now ? 'now' : <Ago at={from} now={now} />}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
};
