import type { FC } from 'hono/jsx';
import type { StoredIncident } from '../../../store/reading.ts';
import { Ago, Time } from '../time.tsx';
import type { JobView } from './frame.tsx';
import { KIND_WORDS } from './words.ts';

/** How long an incident is snoozed for, as the API takes it and as people say it. */
const SNOOZES: readonly (readonly [string, string])[] = [
  ['1h', '1 hour'],
  ['4h', '4 hours'],
  ['1d', '1 day'],
  ['3d', '3 days'],
];

/** The open incidents of the job, with what a person can say about them. */
export const OpenIncidents: FC<{ view: JobView; incidents: readonly StoredIncident[] }> = ({ view, incidents }) => (
  <>
    {incidents.map((incident) => (
      <section class="trouble stack-s" id={`incident-${incident.id}`} aria-label={`Incident ${incident.id}`}>
        <div class="row spread">
          <p>
            <b>
              {view.job.json.name} {KIND_WORDS[incident.kind]}
            </b>{' '}
            since <Time at={incident.openedAt} zone={view.job.zone} viewerZone={view.viewerZone} />,{' '}
            <Ago at={incident.openedAt} now={view.job.now} />.{' '}
            <a href={`${view.projectPath}/incidents/${incident.id}`}>
              Incident {incident.id}, {incident.occurrenceCount}{' '}
              {incident.occurrenceCount === 1 ? 'occurrence' : 'occurrences'}
            </a>
          </p>
          {view.mayEdit ? <Word view={view} incident={incident} /> : null}
        </div>
        <Said view={view} incident={incident} />
      </section>
    ))}
  </>
);

const Said: FC<{ view: JobView; incident: StoredIncident }> = ({ view, incident }) => {
  const { ackedAt, ackedBy, snoozedUntil, snoozedBy } = incident;
  const { zone, now } = view.job;
  const isSnoozed = snoozedUntil !== null && snoozedUntil > now;
  if (ackedAt === null && !isSnoozed) return null;
  return (
    <p class="small soft">
      {ackedAt === null ? null : (
        <>
          Acknowledged by {ackedBy} at <Time at={ackedAt} zone={zone} viewerZone={view.viewerZone} />.{' '}
        </>
      )}
      {isSnoozed ? (
        <>
          Snoozed by {snoozedBy} until <Time at={snoozedUntil} zone={zone} viewerZone={view.viewerZone} />: nothing goes
          out before.
        </>
      ) : null}
    </p>
  );
};

const Word: FC<{ view: JobView; incident: StoredIncident }> = ({ view, incident }) => {
  const path = `${view.base}/incidents/${incident.id}`;
  const field = `snooze-${incident.id}`;
  return (
    <div class="row toolbar">
      {incident.ackedAt === null ? (
        <form method="post" action={`${path}/ack`}>
          <button type="submit" class="small">
            Acknowledge
          </button>
        </form>
      ) : null}
      <form method="post" action={`${path}/snooze`} class="inline" id={`${field}-form`} hx-morph-skip>
        <label class="unseen" for={field}>
          Snooze for
        </label>
        <select id={field} name="until">
          {SNOOZES.map(([value, text]) => (
            <option value={value}>{text}</option>
          ))}
        </select>
        <button type="submit" class="small">
          Snooze
        </button>
      </form>
    </div>
  );
};
