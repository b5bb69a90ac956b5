import type { Context } from 'hono';
import type { FC } from 'hono/jsx';
import { countText } from '../../../core/report-words.ts';
import { type PingReading, withPingKeys } from '../../../engine/job-page.ts';
import { readPing, wholePings } from '../../../store/job-page-pings.ts';
import { readPingBody } from '../../../store/reading.ts';
import { cursorAfter, numberCursor } from '../../api/query.ts';
import type { PageDeps } from '../deps.ts';
import { notePage } from '../note.tsx';
import { Time } from '../time.tsx';
import type { PageEnv } from '../viewer.ts';
import { type JobView, jobPage, jobView, noSuchJobPage } from './frame.tsx';
import { loadJob } from './load.ts';
import { PingTable } from './ping-table.tsx';
import { kindWords, matchWords, spokenMs } from './words.ts';

const PAGE_SIZE = 50;

/** What was heard about a job, newest first. */
export async function pingsPage(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const cursor = c.req.query('cursor');
  const before = cursor === undefined ? null : numberCursor({ given: { cursor: [cursor] }, errors: [] });
  const found = await loadJob(deps, c, async (tx, { stored, readable }) => {
    const pings = await wholePings(tx, stored.id, { before, limit: PAGE_SIZE + 1 });
    return { pings: await withPingKeys(tx, readable, pings, deps.zones) };
  });
  if (!found) return noSuchJobPage(deps, c);
  const view = jobView(c, found.job);
  const page = found.pings.slice(0, PAGE_SIZE);
  const last = page.at(-1);
  return jobPage(
    deps,
    c,
    view,
    { tab: 'pings', title: 'Pings' },
    <section class="stack" aria-label="Pings">
      {page.length === 0 ? (
        <p class="empty soft">
          No ping was heard yet. <a href={`${view.base}/snippets`}>How to ping</a>
        </p>
      ) : (
        <PingTable view={view} pings={page} caption="Pings, newest first" />
      )}
      <nav class="pager" aria-label="Pages">
        <span>{before === null ? null : <a href={`${view.base}/pings`}>Newest</a>}</span>
        {last && found.pings.length > PAGE_SIZE ? (
          <a href={`${view.base}/pings?cursor=${cursorAfter(last.id)}`}>Older</a>
        ) : null}
      </nav>
    </section>,
  );
}

/** One ping and what it said. */
export async function pingPage(deps: PageDeps, c: Context<PageEnv>): Promise<Response> {
  const id = pingIdOf(c);
  const found = await loadJob(deps, c, async (tx, { stored, readable }) => {
    const ping = id === null ? null : await readPing(tx, stored.id, id);
    const [reading] = ping ? await withPingKeys(tx, readable, [ping], deps.zones) : [];
    const body = reading && id !== null ? await readPingBody(tx, stored.id, id) : null;
    return { ping: reading ?? null, body };
  });
  if (!found) return noSuchJobPage(deps, c);
  const { ping, body } = found;
  if (!ping) return notePage(deps, c, 404, 'No such ping', 'This job has no ping of this number.');
  const view = jobView(c, found.job);
  return jobPage(
    deps,
    c,
    view,
    { title: `Ping ${ping.id}` },
    <div class="stack-l">
      <PingFacts view={view} ping={ping} />
      <Body view={view} ping={ping} body={body ?? new Uint8Array()} />
    </div>,
  );
}

/** The bytes as they were sent: as the API serves them, to be nothing but text to a browser. */
export async function pingBody({ api }: Pick<PageDeps, 'api'>, c: Context<PageEnv>): Promise<Response> {
  const { project, viewer } = c.var;
  const caller = { projectId: project.id, actor: viewer.email };
  const path = `/jobs/${encodeURIComponent(c.req.param('slug') ?? '')}/pings/${pingIdOf(c) ?? 'none'}/body`;
  return api.request(path, {}, { caller });
}

function pingIdOf(c: Context): number | null {
  const text = c.req.param('id') ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

const PingFacts: FC<{ view: JobView; ping: PingReading }> = ({ view, ping }) => {
  const { zone } = view.job;
  const rows: readonly (readonly [string, unknown])[] = [
    ['Received', <Time at={ping.receivedAt} zone={zone} viewerZone={view.viewerZone} />],
    ...(ping.at === ping.receivedAt
      ? []
      : [['Happened', <Time at={ping.at} zone={zone} viewerZone={view.viewerZone} />] as const]),
    [
      'About',
      ping.key === null ? (
        <span class="soft">no occurrence</span>
      ) : (
        <a class="mono" href={`${view.base}/occurrences/${ping.key}`}>
          {ping.key.replace('T', ' ')}
        </a>
      ),
    ],
    ['Matched', matchWords(ping)],
    ...(ping.occ === null ? [] : [['Key given', <code>{ping.occ}</code>] as const]),
    ...(ping.rid === null ? [] : [['Run id', <code>{ping.rid}</code>] as const]),
    ...(ping.durationMs === null ? [] : [['Took', spokenMs(ping.durationMs)] as const]),
    ['From', `${ping.source ?? 'unknown address'}, ${ping.method}`],
    ...(ping.userAgent === null ? [] : [['User agent', ping.userAgent] as const]),
    ...ping.notes.map((note) => ['Note', note] as const),
  ];
  return (
    <section class="stack" aria-labelledby="ping">
      <h2 id="ping">
        Ping {ping.id}: {kindWords(ping)}
      </h2>
      <dl class="facts">
        {rows.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value as never}</dd>
          </>
        ))}
      </dl>
    </section>
  );
};

const Body: FC<{ view: JobView; ping: PingReading; body: Uint8Array }> = ({ view, ping, body }) => (
  <section class="stack-s" aria-labelledby="body">
    <div class="row spread baseline">
      <h2 id="body">What it said</h2>
      {body.length === 0 ? null : (
        <a href={`${view.base}/pings/${ping.id}/body`}>Save the {countText(body.length)} bytes</a>
      )}
    </div>
    {ping.truncated ? (
      <p class="small late">
        It said {countText(ping.bodyBytes)} bytes; the first {countText(body.length)} are kept.
      </p>
    ) : null}
    {body.length === 0 ? (
      <p class="soft">Nothing.</p>
    ) : (
      <pre class="wrap">
        <code>{textOf(body)}</code>
      </pre>
    )}
  </section>
);

/** Bytes as text: what is no UTF-8, and what HTML cannot hold, is shown as U+FFFD. */
const textOf = (body: Uint8Array): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced
  new TextDecoder().decode(body).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '\ufffd');
