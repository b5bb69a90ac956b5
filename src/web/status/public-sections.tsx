import type { FC } from 'hono/jsx';
import { groupBy } from '../../core/group.ts';
import type { ShownIncident } from '../../engine/status-pages-view.ts';
import { spokenDuration } from '../pages/time.tsx';
import { stretchTitle } from './calendar.ts';
import { Moment } from './moment.tsx';
import type { Shown } from './representation.ts';
import { clockText, dayText, KIND_WORDS } from './words.ts';

const MOST_STRETCHES = 8;
const FIRST_INCIDENTS = 12;
const MOST_INCIDENTS = 30;
const MOST_BLIND = 5;

/** Maintenance under way and to come: what is not expected then is no trouble. */
export const PlannedMaintenance: FC<{ shown: Shown }> = ({ shown: { view, base, key } }) => (
  <section class="stack-s">
    <h2>Planned maintenance</h2>
    {view.maintenance.length === 0 ? (
      <p class="soft">None in the next 30 days.</p>
    ) : (
      <ul class="bare card stack-s">
        {view.maintenance.slice(0, MOST_STRETCHES).map((stretch) => (
          <li>
            {stretch.from <= view.asOf ? <strong>Now: </strong> : null}
            {stretchTitle(stretch)}
            {stretch.reason === null ? null : <span class="soft"> ({stretch.reason})</span>}
            <div class="small soft">
              <Moment at={stretch.from} shown={view} /> to <Moment at={stretch.until} shown={view} />
            </div>
          </li>
        ))}
        {view.maintenance.length > MOST_STRETCHES ? (
          <li class="small soft">
            {view.maintenance.length - MOST_STRETCHES} more in the <a href={`${base}/calendar.ics${key}`}>calendar</a>.
          </li>
        ) : null}
      </ul>
    )}
  </section>
);

/** The last 30 days, by the day on which each began. */
export const PastIncidents: FC<{ shown: Shown }> = ({ shown: { view, base, key } }) => {
  const [first, older] = [
    view.incidents.slice(0, FIRST_INCIDENTS),
    view.incidents.slice(FIRST_INCIDENTS, MOST_INCIDENTS),
  ];
  const more = view.incidents.length - MOST_INCIDENTS;
  return (
    <section class="stack-s">
      <h2>Incidents of the last 30 days</h2>
      {first.length === 0 ? <p class="soft">None.</p> : <IncidentDays incidents={first} view={view} />}
      {older.length === 0 ? null : (
        <details>
          <summary>{older.length} older ones</summary>
          <IncidentDays incidents={older} view={view} />
        </details>
      )}
      {more > 0 ? (
        <p class="small soft">
          {more} more are in the <a href={`${base}/feed.atom${key}`}>feed</a>.
        </p>
      ) : null}
    </section>
  );
};

const IncidentDays: FC<{ incidents: readonly ShownIncident[]; view: Shown['view'] }> = ({ incidents, view }) => (
  <dl class="days">
    {[...groupBy(incidents, ({ openedAt }) => dayText(openedAt, view.zone, view.asOf))].map(([day, those]) => (
      <div>
        <dt>{day}</dt>
        {those.map((incident) => (
          <Incident incident={incident} view={view} />
        ))}
      </div>
    ))}
  </dl>
);

const Incident: FC<{ incident: ShownIncident; view: Shown['view'] }> = ({ incident, view }) => {
  const { id, job, kind, openedAt, endedAt, occurrences } = incident;
  const lasted = spokenDuration(Math.max(0, Math.round(((endedAt ?? view.asOf) - openedAt) / 1000)));
  return (
    <dd id={id}>
      {job.name} {KIND_WORDS[kind]}
      {occurrences > 1 ? ` (${occurrences} times)` : ''}
      <span class="small soft">
        {' '}
        {endedAt === null ? (
          <strong class="bad">goes on since {clockText(openedAt, view.zone)}</strong>
        ) : (
          `${clockText(openedAt, view.zone)}, over after ${lasted}`
        )}
      </span>
    </dd>
  );
};

/** What Rollcall could not hear: a page that hid it would claim to know. */
export const OwnHealth: FC<{ shown: Shown }> = ({ shown: { view } }) => {
  const { blind } = view.hearing;
  return (
    <section class="stack-s">
      <h2>Rollcall itself</h2>
      {blind.length === 0 ? (
        <p class="soft">It heard everything in the last 30 days.</p>
      ) : (
        <ul class="bare stack-s">
          {blind.slice(0, MOST_BLIND).map(({ after, until }) => (
            <li>
              Rollcall could not hear between <Moment at={after} shown={view} /> and <Moment at={until} shown={view} />:
              runs in that time are unknown, unless they were reported later.
            </li>
          ))}
          {blind.length > MOST_BLIND ? (
            <li class="soft">So it was {blind.length - MOST_BLIND} more times in the last 30 days.</li>
          ) : null}
        </ul>
      )}
    </section>
  );
};
