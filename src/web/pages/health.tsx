import { type Context, Hono } from 'hono';
import type { FC } from 'hono/jsx';
import type { Zone } from '../../core/zone.ts';
import { type HealthDetail, readHealthDetail } from '../../store/health-page.ts';
import { type Health, isVital } from '../health.ts';
import { createCall } from './call.ts';
import type { PageDeps } from './deps.ts';
import { goTo, takeFlash } from './flash.ts';
import { notePage } from './note.tsx';
import { answerPage, Page } from './page.tsx';
import { viewerZone } from './project-gate.ts';
import { Ago, spokenDuration, Time } from './time.tsx';
import type { Viewer } from './viewer.ts';

/**
 * How Rollcall itself is. Everybody may see what /healthz says; who is signed in sees more. It is shown as far as it is
 * known when the database is away: then it is needed most.
 */
export function healthPages(deps: PageDeps): Hono {
  return new Hono()
    .post('/health/trust-clock', (c) => trustClock(deps, c))
    .get('/health', async (c) => {
      const health = await deps.readHealth();
      const viewer = await deps.readViewer(c).catch(() => null);
      const detail = viewer === null ? null : await deps.database.transaction(readHealthDetail).catch(() => null);
      return answerPage(
        c,
        <Page
          title="Health"
          assets={deps.assets}
          viewer={viewer ?? undefined}
          flash={takeFlash(c)}
          {...(detail ? { now: detail.now } : {})}
        >
          <h1 class={health.status === 'ok' ? '' : 'bad'}>
            {health.status === 'ok' ? 'Rollcall itself is well' : 'Rollcall itself is not well'}
          </h1>
          {detail?.clockDoubt ? <Doubt why={detail.clockDoubt} mayTrust={ownedBy(viewer) !== undefined} /> : null}
          <Checks health={health} />
          {detail === null ? null : <Detail detail={detail} zone={viewerZone(c, deps.zones, viewer)} />}
        </Page>,
      );
    });
}

/** A project of which this person is an owner: what concerns all of Rollcall is said, and audited, in its name. */
const ownedBy = (viewer: Viewer | null) => viewer?.projects.find(({ role }) => role === 'owner');

/** What `rollcall trust-clock` does, from the page. */
async function trustClock(deps: PageDeps, c: Context): Promise<Response> {
  const viewer = await deps.readViewer(c);
  if (viewer === null) return goTo(c, '/sign-in?to=%2Fhealth');
  const project = ownedBy(viewer);
  if (!project)
    return notePage(deps, c, 403, 'Not allowed', 'Only an owner of a project says that the clock is right.');
  const call = createCall(deps.api, { projectId: project.id, actor: viewer.email });
  const trusted = await call('POST', '/clock/trust');
  return goTo(c, '/health', trusted.ok ? 'The clock is believed.' : trusted.detail);
}

const Doubt: FC<{ why: string; mayTrust: boolean }> = ({ why, mayTrust }) => (
  <section class="trouble stack-s">
    <h2>The clock is in doubt</h2>
    <p>{why}</p>
    <p>Pings are kept meanwhile; nothing is judged, and nothing can be changed.</p>
    {mayTrust ? (
      <form method="post" action="/health/trust-clock" data-asks="Is the time shown below right?">
        <button type="submit">The clock is right</button>
      </form>
    ) : null}
  </section>
);

/** A cross only for what turns Rollcall red; the rest is worth reading, and no alarm. */
function markOf(check: Health['checks'][number]): readonly [mark: string, word: string, look: string] {
  if (check.ok) return ['✓', 'well', 'ok'];
  return isVital(check) ? ['✗', 'not well', 'bad'] : ['i', 'note', 'late'];
}

const NAMES: Readonly<Record<string, string>> = {
  ingest: 'Pings are committed',
  evaluator: 'Jobs are judged',
  horizon: 'Judging keeps up with the clock',
  clock: "This machine's clock",
  database_clock: "The database's clock",
  blind_windows: 'Blind windows',
  channels: 'Channels',
  outbox: 'Messages',
  tz: 'Time zone rules',
};

const Checks: FC<{ health: Health }> = ({ health: { checks } }) => (
  <div class="card flush">
    <table class="folds">
      <caption class="unseen">Checks</caption>
      <tbody>
        {checks.map((check) => {
          const [mark, word, look] = markOf(check);
          return (
            <tr>
              <th scope="row" class="tight">
                <span class={look} aria-hidden="true">
                  {mark}
                </span>
                <span class="unseen">{word}: </span> {NAMES[check.name] ?? check.name.replaceAll('_', ' ')}
              </th>
              <td class="soft">{check.detail}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  </div>
);

const CAUSES: Readonly<Record<HealthDetail['blindWindows'][number]['cause'], string>> = {
  silent: 'no beat was heard',
  skipped: 'the clock skipped it',
  repeated: 'the clock went back and repeated it',
};

const Detail: FC<{ detail: HealthDetail; zone: Zone }> = ({ detail, zone }) => (
  <div class="columns">
    <section class="card">
      <h2>Installation</h2>
      <dl class="facts">
        <dt>Jobs</dt>
        <dd class="num">{detail.jobs.toLocaleString('en')}</dd>
        <dt>Pushed back</dt>
        <dd>{detail.pushedBack === 0 ? 'none' : `${detail.pushedBack} whose evaluation failed: the log says why`}</dd>
        <dt>Database</dt>
        <dd>
          {sizeText(detail.databaseBytes)}, PostgreSQL {detail.serverVersion}
        </dd>
        <dt>Its clock</dt>
        <dd>
          <Time at={detail.now} zone={zone} />
        </dd>
      </dl>
    </section>
    <section class="card">
      <h2>Messages</h2>
      <dl class="facts">
        {detail.outbox.map(({ state, count }) => (
          <>
            <dt>{state === 'waiting' ? 'Waiting' : `${state[0]?.toUpperCase()}${state.slice(1)}, last 24 h`}</dt>
            <dd class="num">{count.toLocaleString('en')}</dd>
          </>
        ))}
        {detail.oldestWaiting === null ? null : (
          <>
            <dt>The oldest waits since</dt>
            <dd>
              <Time at={detail.oldestWaiting} zone={zone} />
            </dd>
          </>
        )}
      </dl>
      {detail.outbox.length === 0 ? <p class="soft">None in the last 24 hours.</p> : null}
    </section>
    <section class="card">
      <h2>Ingest replicas</h2>
      <ul class="bare stack-s">
        {detail.replicas.map(({ replica, at, through }) => (
          <li>
            <code>{replica.slice(0, 8)}</code> heard <Ago at={at} now={detail.now} />,{' '}
            {through >= at - 1000 ? 'nothing waits' : `holds pings back for ${spokenDuration((at - through) / 1000)}`}
          </li>
        ))}
      </ul>
      {detail.replicas.length === 0 ? <p class="bad">None was heard within an hour.</p> : null}
    </section>
    <section class="card">
      <h2>Blind windows, last 30 days</h2>
      <p class="soft">
        In these Rollcall could not trust what it heard. What was due then is unknown until somebody reports it.
      </p>
      <ul class="bare stack-s">
        {detail.blindWindows.map(({ after, until, cause }) => (
          <li>
            <Time at={after} zone={zone} /> for {spokenDuration((until - after) / 1000)}: {CAUSES[cause]}
          </li>
        ))}
      </ul>
      {detail.blindWindows.length === 0 ? <p>None.</p> : null}
    </section>
  </div>
);

/** Bytes for people. */
function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
