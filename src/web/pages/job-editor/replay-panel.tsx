import type { FC } from 'hono/jsx';
import type { ReplayedIncident } from '../../../core/replay.ts';
import type { Zone } from '../../../core/zone.ts';
import type { Replay } from '../../../engine/replay.ts';
import type { PastIncident } from '../../../store/replay.ts';
import { KIND_WORDS } from '../job/words.ts';
import { spokenDuration, Time } from '../time.tsx';

export type ShownReplay = { readonly replay: Replay; readonly zone: Zone; readonly incidentPath: string };

/** What these settings would have told, beside what was told. */
export const ReplayPanel: FC<ShownReplay & { viewerZone: Zone }> = ({ replay, zone, viewerZone, incidentPath }) => {
  const told = replay.incidents.reduce((sum, incident) => sum + incident.told.length, 0);
  const was = replay.recorded.reduce((sum, incident) => sum + incident.told, 0);
  const gone = replay.recorded.filter((incident) => !replay.incidents.some((one) => isSame(one, incident)));
  return (
    <div class="stack" id="replay" role="status">
      <p>
        <strong>
          Under these settings, {spanText(replay)} would have told you {times(told)}.
        </strong>{' '}
        <span class="soft">
          {wasText(told, was)} Replayed over {replay.pings.toLocaleString('en')} {replay.pings === 1 ? 'ping' : 'pings'}
          , with pauses, maintenance and blind windows as they were.
          {replay.untold === 0 ? '' : ` ${replay.untold} more opened, and ended or stayed below alert_after.`}
        </span>
      </p>
      {capText(replay) === null ? null : <p class="notice">{capText(replay)}</p>}
      {replay.incidents.length === 0 ? null : (
        <div class="card flush scroll">
          <table class="folds">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">What</th>
                <th scope="col">Occurrence</th>
                <th scope="col">Over after</th>
                <th scope="col">Really told</th>
              </tr>
            </thead>
            <tbody>
              {replay.incidents.slice(0, MOST_SHOWN).map((incident) => (
                <ReplayRow
                  incident={incident}
                  replay={replay}
                  zone={zone}
                  viewerZone={viewerZone}
                  path={incidentPath}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {replay.incidents.length > MOST_SHOWN ? (
        <p class="soft">{replay.incidents.length - MOST_SHOWN} more are not shown.</p>
      ) : null}
      {gone.length === 0 ? null : (
        <div class="stack-s">
          <h3>Told then, and not under these settings</h3>
          <ul>
            {gone.slice(0, MOST_SHOWN).map(({ id, kind, openedAt }) => (
              <li>
                <a href={`${incidentPath}/${id}`}>
                  <Time at={openedAt} zone={zone} viewerZone={viewerZone} />
                </a>{' '}
                {KIND_WORDS[kind]}
              </li>
            ))}
          </ul>
          {gone.length > MOST_SHOWN ? <p class="soft">and {gone.length - MOST_SHOWN} more</p> : null}
        </div>
      )}
    </div>
  );
};

const MOST_SHOWN = 50;

const ReplayRow: FC<{
  incident: ReplayedIncident;
  replay: Replay;
  zone: Zone;
  viewerZone: Zone;
  path: string;
}> = ({ incident, replay, zone, viewerZone, path }) => {
  const { kind, told, occurrences } = incident;
  const [first] = told;
  const recorded = replay.recorded.find((one) => isSame(incident, one));
  return (
    <tr>
      <th scope="row">
        <Time at={first?.at ?? incident.openedAt} zone={zone} viewerZone={viewerZone} />
        {told.length > 1 ? <span class="soft"> and {times(told.length - 1)} again</span> : null}
      </th>
      <td>{KIND_WORDS[kind]}</td>
      <td data-name="Occurrence">
        {first?.first == null ? (
          <span class="soft">—</span>
        ) : (
          <Time at={first.first} zone={zone} viewerZone={viewerZone} />
        )}
        {occurrences > 1 ? <span class="soft"> and {occurrences - 1} more</span> : null}
      </td>
      <td data-name="Over after">{overText(incident)}</td>
      <td data-name="Really told">
        {recorded ? <a href={`${path}/${recorded.id}`}>yes</a> : <span class="soft">no: this is new</span>}
      </td>
    </tr>
  );
};

function overText({ openedAt, resolvedAt }: ReplayedIncident): string {
  if (resolvedAt === null) return 'still open';
  return spokenDuration(Math.max(0, Math.round((resolvedAt - openedAt) / 1000)));
}

/** The same trouble: of one kind, and at one time. */
function isSame(one: ReplayedIncident, other: PastIncident): boolean {
  const end = (incident: { readonly resolvedAt: number | null }): number => incident.resolvedAt ?? Infinity;
  return one.kind === other.kind && one.openedAt <= end(other) && other.openedAt <= end(one);
}

const times = (count: number): string => (count === 1 ? 'once' : count === 0 ? 'nothing' : `${count} times`);

function wasText(told: number, was: number): string {
  if (was !== told) return `It did tell you ${times(was)}.`;
  return told === 0 ? 'It told you nothing either.' : 'It did tell you as often.';
}

const DAY_MS = 86_400_000;

function spanText({ after, until }: Replay): string {
  const days = (until - after) / DAY_MS;
  if (days >= 29.9) return 'the last 30 days';
  return `the last ${spokenDuration(Math.max(1, Math.round((until - after) / 1000)))}`;
}

function capText({ cappedBy }: Replay): string | null {
  switch (cappedBy) {
    case null:
      return null;
    case 'pings':
      return 'There are more pings than are replayed at once (20,000): only the newest ones are in it.';
    case 'occurrences':
      return 'It is due more often than is replayed at once (10,000 times): only the newest ones are in it.';
    case 'time':
      return 'Thirty days would have taken too long to replay: only the newest of them are in it.';
  }
}
