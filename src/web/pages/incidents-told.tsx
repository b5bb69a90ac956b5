import type { FC } from 'hono/jsx';
import type { Instant } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import type { Notification } from '../../store/delivery-log.ts';
import { Time } from './time.tsx';

const TYPES: Readonly<Record<Notification['type'], string>> = {
  'incident.opened': 'the problem',
  'incident.reminded': 'another occurrence',
  'incident.resolved': 'the end',
};
const AGAIN: Readonly<Record<NonNullable<Notification['again']>, string>> = {
  interval: 'a reminder: it is still open',
  snooze_over: 'still open after the snooze',
};
const LOOKS: Readonly<Record<Notification['state'], string>> = {
  delivered: 'up',
  waiting: 'new',
  withheld: 'late',
  rejected: 'down',
  expired: 'down',
};
const STATES: Readonly<Record<Notification['state'], string>> = {
  delivered: 'delivered',
  waiting: 'on its way',
  withheld: 'withheld',
  rejected: 'refused',
  expired: 'given up after 24 h',
};

/** Every event of an incident to every channel: what became of it and, where it was not told, why. */
export const ToldTable: FC<{
  told: readonly Notification[];
  now: Instant;
  zone: Zone;
  viewerZone: Zone;
  project: string;
}> = ({ told, now, zone, viewerZone, project }) => (
  <div class="card flush">
    <table class="folds">
      <thead>
        <tr>
          <th scope="col">Channel</th>
          <th scope="col">What</th>
          <th scope="col">What became of it</th>
          <th scope="col">When</th>
        </tr>
      </thead>
      <tbody>
        {told.map((one) => (
          <tr>
            <th scope="row">
              <a href={`/projects/${project}/channels/${one.channel}`}>{one.channel}</a>
            </th>
            <td>{one.again === null ? TYPES[one.type] : AGAIN[one.again]}</td>
            <td>
              <span class={`badge ${LOOKS[one.state]}`}>{STATES[one.state]}</span>
              {one.reason === null ? null : <span class="small soft"> {one.reason}</span>}
              {one.attempts > 1 ? <span class="small soft"> ({one.attempts} attempts)</span> : null}
            </td>
            <td data-name="When">
              <WhenTold one={one} now={now} zone={zone} viewerZone={viewerZone} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

const WhenTold: FC<{ one: Notification; now: Instant; zone: Zone; viewerZone: Zone }> = ({
  one,
  now,
  zone,
  viewerZone,
}) => {
  if (one.deliveredAt !== null) return <Time at={one.deliveredAt} zone={zone} viewerZone={viewerZone} />;
  if (one.notBefore === null) return <span class="soft">not told</span>;
  if (one.notBefore <= now) return <span class="soft">soon</span>;
  return (
    <>
      not before <Time at={one.notBefore} zone={zone} viewerZone={viewerZone} />
    </>
  );
};
