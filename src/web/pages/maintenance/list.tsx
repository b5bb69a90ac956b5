import type { FC } from 'hono/jsx';
import type { NamedStretch } from '../../../core/calendar.ts';
import type { Instant } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import type { StoredRevision, StoredWindow } from '../../../store/maintenance.ts';
import { Ago, Time } from '../time.tsx';
import { whenWords, whomWords } from './words.ts';

/** A window in force with what is to come of it. */
export type ListedWindow = {
  readonly window: StoredWindow;
  readonly zone: Zone;
  readonly active: boolean;
  readonly stretches: readonly NamedStretch[];
};

type ListProps = { readonly now: Instant; readonly viewerZone: Zone; readonly path: string };

/** Windows with their next stretches. */
export const WindowTable: FC<ListProps & { windows: readonly ListedWindow[] }> = ({ windows, ...props }) => (
  <div class="card flush">
    <table class="folds">
      <thead>
        <tr>
          <th scope="col">Window</th>
          <th scope="col">When</th>
          <th scope="col">Next</th>
          <th scope="col">Whom</th>
        </tr>
      </thead>
      <tbody>
        {windows.map((one) => (
          <WindowRow one={one} {...props} />
        ))}
      </tbody>
    </table>
  </div>
);

const WindowRow: FC<ListProps & { one: ListedWindow }> = ({ one, now, viewerZone, path }) => {
  const { window, zone, active, stretches } = one;
  const { name, reason, when } = window.definition;
  return (
    <tr>
      <th scope="row">
        <a href={`${path}/${window.slug}`}>{name}</a> {active ? <span class="badge late">holds now</span> : null}
        {reason === '' ? null : <div class="soft small">{reason}</div>}
      </th>
      <td>
        {whenWords(when)}
        {when.kind === 'once' ? null : <span class="soft"> · {zone.name}</span>}
        {when.kind === 'calendar' && when.url !== null ? <Fetched window={window} zone={viewerZone} now={now} /> : null}
      </td>
      <td data-name="Next">
        {stretches.length > 0 ? null : when.kind === 'once' ? (
          <span class="soft">
            was <Time at={when.from} zone={zone} /> to <Time at={when.until} zone={zone} />
          </span>
        ) : (
          <span class="soft">none is to come</span>
        )}
        <ul class="bare">
          {stretches.map(({ from, until, summary }) => (
            <li>
              <Time at={from} zone={zone} viewerZone={viewerZone} /> <span class="soft">to</span>{' '}
              <Time at={until} zone={zone} viewerZone={viewerZone} />
              {summary === '' ? null : <span class="soft"> {summary}</span>}
            </li>
          ))}
        </ul>
      </td>
      <td>{whomWords(window.definition)}</td>
    </tr>
  );
};

/** When a calendar was read last, and why it could not be since. */
export const Fetched: FC<{ window: Pick<StoredWindow, 'fetchedAt' | 'fetchFailure'>; zone: Zone; now: Instant }> = ({
  window: { fetchedAt, fetchFailure },
  zone,
  now,
}) => (
  <div class="small">
    {fetchedAt === null ? null : (
      <span class="soft">
        read <Time at={fetchedAt} zone={zone} />, <Ago at={fetchedAt} now={now} />
      </span>
    )}
    {fetchFailure === null ? null : (
      <div class="late">Cannot be read since: {fetchFailure}. What was known still holds; it is tried every hour.</div>
    )}
  </div>
);

/** Revisions that are not in force any more: they still say what was skipped while they were. */
export const PastTable: FC<ListProps & { revisions: readonly StoredRevision[] }> = ({ revisions, viewerZone }) => (
  <div class="card flush">
    <table class="folds">
      <thead>
        <tr>
          <th scope="col">Window</th>
          <th scope="col">When</th>
          <th scope="col">Whom</th>
          <th scope="col">In force</th>
          <th scope="col">By</th>
        </tr>
      </thead>
      <tbody>
        {revisions.map(({ slug, definition, actor, knownFrom, knownUntil, isReplaced }) => (
          <tr>
            <th scope="row">
              {definition.name} <span class="soft small">{definition.name === slug ? '' : slug}</span>
            </th>
            <td>
              {whenWords(definition.when)}
              {definition.when.kind === 'once' ? (
                <span class="soft">
                  {' '}
                  from <Time at={definition.when.from} zone={viewerZone} />
                </span>
              ) : null}
            </td>
            <td>{whomWords(definition)}</td>
            <td data-name="In force">
              <Time at={knownFrom} zone={viewerZone} /> <span class="soft">to</span>{' '}
              {knownUntil === null ? null : <Time at={knownUntil} zone={viewerZone} />}{' '}
              <span class="soft">{isReplaced ? 'replaced' : 'ended'}</span>
            </td>
            <td data-name="By">{actor}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
