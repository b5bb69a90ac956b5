import type { FC } from 'hono/jsx';
import { countText } from '../../../core/report-words.ts';
import type { Instant } from '../../../core/time.ts';
import type { Zone } from '../../../core/zone.ts';
import type { IncidentLine } from '../../../store/dashboard-incidents.ts';
import { KIND_WORDS } from '../job/words.ts';
import { Ago, Time } from '../time.tsx';

export type LineFrame = {
  readonly project: string;
  readonly now: Instant;
  readonly viewerZone: Zone;
  /** May acknowledge and snooze. */
  readonly isEditor: boolean;
  /** Where its forms lead back to. */
  readonly from: 'jobs' | 'incidents';
};

/** The open incidents of a project, the first few. */
export const OpenIncidents: FC<{
  incidents: readonly (IncidentLine & { readonly jobZone: Zone })[];
  count: number;
  frame: LineFrame;
}> = ({ incidents, count, frame }) => {
  if (count === 0) return null;
  const rest = count - incidents.length;
  return (
    <section class="card flush" aria-labelledby="open-incidents">
      <h2 id="open-incidents" class="card-head">
        Open incidents <span class="count">{countText(count)}</span>
      </h2>
      <ul class="bare lines">
        {incidents.map((incident) => (
          <li id={`incident-${incident.id}`} class="row spread">
            <IncidentSentence incident={incident} frame={frame} />
            <Answers incident={incident} frame={frame} />
          </li>
        ))}
        {rest > 0 ? (
          <li>
            <a href={`/projects/${frame.project}/incidents?state=open`}>And {countText(rest)} more</a>
          </li>
        ) : null}
      </ul>
    </section>
  );
};

/** `Nightly backup did not run · 3 h ago · acknowledged by ada@example.org`. */
export const IncidentSentence: FC<{
  incident: IncidentLine & { readonly jobZone: Zone };
  frame: LineFrame;
}> = ({ incident, frame: { project, now, viewerZone } }) => {
  const { id, name, kind, openedAt, resolvedAt, ackedBy, ackedAt, snoozedUntil, jobZone, occurrenceCount } = incident;
  return (
    <div class="sentence">
      <a class="plain" href={`/projects/${project}/incidents/${id}`}>
        <strong>{name}</strong> {KIND_WORDS[kind]}
      </a>
      <div class="small soft">
        {occurrenceCount > 1 ? `${countText(occurrenceCount)} occurrences, ` : ''}
        {resolvedAt === null ? 'since' : 'opened'} <Time at={openedAt} zone={jobZone} viewerZone={viewerZone} />,{' '}
        <Ago at={openedAt} now={now} />
        {resolvedAt === null ? null : (
          <>
            {' '}
            · resolved <Time at={resolvedAt} zone={jobZone} viewerZone={viewerZone} />
          </>
        )}
        {ackedAt === null ? null : ` · acknowledged by ${ackedBy ?? 'somebody'}`}
        {snoozedUntil === null ? null : (
          <>
            {' '}
            · snoozed until <Time at={snoozedUntil} zone={jobZone} viewerZone={viewerZone} />
          </>
        )}
      </div>
    </div>
  );
};

/** Acknowledge, and an hour of quiet; nothing once it has ended, or for who may only look. */
export const Answers: FC<{ incident: IncidentLine; frame: LineFrame }> = ({ incident, frame }) => {
  const { id, name, resolvedAt, ackedAt, snoozedUntil } = incident;
  if (!frame.isEditor || resolvedAt !== null) return null;
  const path = `/projects/${frame.project}/incidents/${id}`;
  return (
    <div class="row">
      {ackedAt === null ? (
        <form class="inline" method="post" action={`${path}/ack`}>
          <input type="hidden" name="from" value={frame.from} />
          <button class="small" type="submit" aria-label={`Acknowledge: ${name}`}>
            Acknowledge
          </button>
        </form>
      ) : null}
      {snoozedUntil === null ? (
        <form class="inline" method="post" action={`${path}/snooze`}>
          <input type="hidden" name="from" value={frame.from} />
          <input type="hidden" name="for" value="1h" />
          <button class="small" type="submit" aria-label={`Snooze 1 h: ${name}`}>
            Snooze 1 h
          </button>
        </form>
      ) : null}
    </div>
  );
};
