import type { Context } from 'hono';
import type { Child, FC } from 'hono/jsx';
import { formatKey } from '../../core/key.ts';
import { countText } from '../../core/report-words.ts';
import { type Instant, parseInstant } from '../../core/time.ts';
import type { Zone } from '../../core/zone.ts';
import {
  type IncidentDeed,
  type IncidentLine,
  type IncidentMember,
  readIncidentDeeds,
  readIncidentLine,
  readIncidentMembers,
} from '../../store/dashboard-incidents.ts';
import { readMarks } from '../../store/dashboard-mark.ts';
import { type Notification, pageOfNotifications } from '../../store/delivery-log.ts';
import { dueJobs } from '../../store/jobs.ts';
import { orUtc, readKeyZones } from '../../store/version-zones.ts';
import { bringToNow } from '../api/bring-to-now.ts';
import { Live, liveAttributes } from './dashboard/live.tsx';
import type { PageDeps } from './deps.ts';
import { takeFlash } from './flash.ts';
import { SnoozeForm, type TypedSnooze } from './incidents-forms.tsx';
import { ToldTable } from './incidents-told.tsx';
import { KIND_WORDS } from './job/words.ts';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import { StateBadge } from './roll.tsx';
import { Ago, Time } from './time.tsx';
import { mayAs, type PageEnv } from './viewer.ts';

const MEMBERS_SHOWN = 100;
const TOLD_SHOWN = 200;
const MOST_CAUGHT_UP = 25;

type Shown = {
  readonly line: IncidentLine;
  readonly zone: Zone;
  readonly members: readonly (IncidentMember & { readonly key: string; readonly keyZone: Zone })[];
  readonly told: readonly Notification[];
  readonly deeds: readonly IncidentDeed[];
  readonly now: Instant;
  readonly mark: string;
};

/** The id in the path; null: that is none. */
export function incidentIdOf(c: Context): number | null {
  const text = c.req.param('id') ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** One incident: what, when, which occurrences, what was told to whom. `typed`: a snooze that was refused, as it was sent. */
export async function showIncident(deps: PageDeps, c: Context<PageEnv>, typed?: TypedSnooze): Promise<Response> {
  const { project, viewer, viewerZone } = c.var;
  const id = incidentIdOf(c);
  const shown = id === null ? null : await readShown(deps, project.id, id);
  if (shown === null) return notePage(deps, c, 404, 'Nothing here', 'There is no such incident in this project.');
  const flash = c.req.header('HX-Request') ? undefined : takeFlash(c);
  const path = `/projects/${project.slug}/incidents/${shown.line.id}`;
  const isEditor = mayAs(project.role, 'editor');
  return answerPage(
    c,
    <Page
      title={`${shown.line.name} ${KIND_WORDS[shown.line.kind]}`}
      assets={deps.assets}
      now={shown.now}
      viewer={viewer}
      project={project}
      section="incidents"
      flash={flash}
      isLive={typed === undefined}
    >
      {typed === undefined ? <Live project={project.slug} mark={shown.mark} /> : null}
      <div id="incident" class="stack-l" {...liveAttributes(path, 'incident')}>
        <Head shown={shown} project={project.slug} viewerZone={viewerZone} />
        {isEditor && shown.line.resolvedAt === null ? <Answer shown={shown} path={path} typed={typed} /> : null}
        <Members shown={shown} project={project.slug} viewerZone={viewerZone} />
        <Told shown={shown} project={project.slug} viewerZone={viewerZone} />
        <History shown={shown} viewerZone={viewerZone} />
      </div>
    </Page>,
    typed === undefined ? 200 : 400,
  );
}

async function readShown(deps: PageDeps, projectId: number, id: number): Promise<Shown | null> {
  await bringToNow(deps, await deps.database.transaction((tx) => dueJobs(tx, projectId, MOST_CAUGHT_UP)));
  return deps.database.transaction(async (tx) => {
    const mark = (await readMarks(tx, [projectId])).get(projectId) ?? '';
    const line = await readIncidentLine(tx, projectId, id);
    if (line === null) return null;
    const members = await readIncidentMembers(tx, id, MEMBERS_SHOWN);
    const zoneOf = await readKeyZones(tx, deps.zones, members);
    const log = { projectId, incidentId: id };
    return {
      line,
      zone: orUtc(deps.zones.get(line.zone)),
      members: members.map((member) => {
        const keyZone = zoneOf(member);
        return { ...member, keyZone, key: formatKey(member.scheduledFor, keyZone) };
      }),
      told: (await pageOfNotifications(tx, log, { from: null, limit: TOLD_SHOWN })) ?? [],
      deeds: await readIncidentDeeds(tx, projectId, line),
      now: tx.now,
      mark,
    };
  });
}

type Part = FC<{ shown: Shown; project: string; viewerZone: Zone }>;

const Head: Part = ({ shown: { line, zone, now }, project, viewerZone }) => {
  const state = line.resolvedAt === null ? 'open' : 'resolved';
  const when = (at: Instant) => (
    <>
      <Time at={at} zone={zone} viewerZone={viewerZone} /> <Ago at={at} now={now} />
    </>
  );
  return (
    <header class="stack-s">
      <h1>
        {line.name} {KIND_WORDS[line.kind]}
      </h1>
      <div class="row">
        <span class={`badge ${state}`}>{state}</span>
        <span class="soft">
          incident {line.id}, {line.kind.replaceAll('_', ' ')}
        </span>
      </div>
      <dl class="facts">
        <Fact name="Job">
          <a href={`/projects/${project}/jobs/${line.slug}`}>{line.slug}</a>
        </Fact>
        <Fact name="Opened">{when(line.openedAt)}</Fact>
        {line.resolvedAt === null ? null : <Fact name="Resolved">{when(line.resolvedAt)}</Fact>}
        {line.ackedAt === null ? null : (
          <Fact name="Acknowledged">
            by {line.ackedBy ?? 'somebody'}, {when(line.ackedAt)}
          </Fact>
        )}
        {line.snoozedUntil === null ? null : (
          <Fact name="Snoozed until">
            {when(line.snoozedUntil)}, by {line.snoozedBy ?? 'somebody'}
          </Fact>
        )}
      </dl>
    </header>
  );
};

const Fact: FC<{ name: string; children?: Child }> = ({ name, children }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
);

const Answer: FC<{ shown: Shown; path: string; typed: TypedSnooze | undefined }> = ({ shown, path, typed }) => (
  <section class="card stack" aria-labelledby="answer">
    <h2 id="answer">Answer it</h2>
    {shown.line.ackedAt === null ? (
      <form class="row" method="post" action={`${path}/ack`}>
        <button class="main" type="submit">
          Acknowledge
        </button>
        <span class="small soft">
          Nobody is reminded of it any more. Its end is told, and so is a new failure after a success.
        </span>
      </form>
    ) : null}
    <SnoozeForm path={path} zone={shown.zone} isSnoozed={shown.line.snoozedUntil !== null} typed={typed} />
  </section>
);

const Members: Part = ({ shown: { line, members }, project, viewerZone }) => {
  const rest = line.occurrenceCount - members.filter(({ moved }) => !moved).length;
  return (
    <section class="stack-s" aria-labelledby="occurrences">
      <h2 id="occurrences">Occurrences</h2>
      {members.length === 0 ? (
        <p class="soft">It is about no single occurrence.</p>
      ) : (
        <div class="card flush">
          <table class="folds">
            <thead>
              <tr>
                <th scope="col">Due</th>
                <th scope="col">State now</th>
                <th scope="col">Completed</th>
              </tr>
            </thead>
            <tbody>
              {members.map(({ key, keyZone, scheduledFor, state, completedAt, moved }) => (
                <tr>
                  <th scope="row">
                    <a href={`/projects/${project}/jobs/${line.slug}/occurrences/${encodeURIComponent(key)}`}>
                      <Time at={scheduledFor} zone={keyZone} viewerZone={viewerZone} />
                    </a>
                  </th>
                  <td>
                    <StateBadge state={state} />
                    {moved ? <span class="small soft"> moved to another incident</span> : null}
                  </td>
                  <td data-name="Completed">
                    {completedAt === null ? (
                      <span class="soft">not</span>
                    ) : (
                      <Time at={completedAt} zone={keyZone} viewerZone={viewerZone} />
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {rest > 0 ? <p class="soft">And {countText(rest)} more.</p> : null}
    </section>
  );
};

const Told: Part = ({ shown: { line, told, zone, now }, project, viewerZone }) => (
  <section class="stack-s" aria-labelledby="told">
    <h2 id="told">What was told to whom</h2>
    {told.length === 0 ? (
      <p class="soft">
        {line.events === 0
          ? 'Nobody has been told: too few occurrences so far for the threshold of this job, or it ended before.'
          : 'Nobody was to be told: the job has no channel, or its channels are gone.'}
      </p>
    ) : (
      <ToldTable told={told} now={now} zone={zone} viewerZone={viewerZone} project={project} />
    )}
    {told.length === TOLD_SHOWN ? <p class="soft">Only the first {TOLD_SHOWN} are shown.</p> : null}
  </section>
);

const History: FC<{ shown: Shown; viewerZone: Zone }> = ({ shown: { line, deeds, zone }, viewerZone }) => {
  const time = (at: Instant) => <Time at={at} zone={zone} viewerZone={viewerZone} />;
  return (
    <section class="stack-s" aria-labelledby="history">
      <h2 id="history">History</h2>
      <ul class="bare stack-s">
        <li>{time(line.openedAt)} opened</li>
        {deeds.map((deed) => (
          <li>
            {time(deed.at)} {deed.actor} <Deed deed={deed} zone={zone} />
          </li>
        ))}
        {line.resolvedAt === null ? null : <li>{time(line.resolvedAt)} resolved</li>}
      </ul>
    </section>
  );
};

const Deed: FC<{ deed: IncidentDeed; zone: Zone }> = ({ deed, zone }) => {
  if (deed.action === 'incident.ack') return <>acknowledged it</>;
  const until = deed.until === null ? null : parseInstant(deed.until);
  if (!until?.ok) return <>ended the snooze</>;
  return (
    <>
      snoozed it until <Time at={until.value} zone={zone} />
    </>
  );
};
