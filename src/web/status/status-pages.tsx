import type { IncomingMessage } from 'node:http';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { etag } from 'hono/etag';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { createReadStatusView, DAY_MS, readExpected } from '../../engine/status-pages.ts';
import type { StatusView } from '../../engine/status-pages-view.ts';
import { DatabaseUnavailable } from '../../store/database.ts';
import { isSlug } from '../api/slug.ts';
import { statusPageUrl } from '../api/status-pages.ts';
import type { PageDeps } from '../pages/deps.ts';
import { RETRY_AFTER_SECONDS } from '../problem.ts';
import { createRateLimit } from '../rate-limit.ts';
import { type BadgeOf, badgeJson, badgeSvg } from './badges.ts';
import { calendar, MOST_OF_JOB } from './calendar.ts';
import { atomFeed, jsonFeed } from './feeds.ts';
import { answerDoor, answerNote, COMMON_HEADERS, pageHeaders } from './frame.tsx';
import { statusJson } from './json.ts';
import { createOpenPages, type OpenPage, type OpenPages } from './open-pages.ts';
import { isAtOwnHost } from './own-hosts.ts';
import { admit, createPasswordCheck, hasKey, isAdmitted, keyOf } from './password.ts';
import { EmbeddedPage, isListed, PublicPage } from './public-page.tsx';
import type { Rendered, Shown } from './representation.ts';

export type StatusDeps = Pick<
  PageDeps,
  'database' | 'zones' | 'catchUp' | 'log' | 'publicUrl' | 'assets' | 'clientAddress'
> & {
  readonly monotonic?: () => number;
};

type Site = StatusDeps & { readonly pages: OpenPages };

/** A representation of a page; null: it has nothing of that kind. */
type Make = (shown: Shown, c: Context) => Rendered | null | Promise<Rendered | null>;

const SECONDS_FRESH = 20;

/** The public pages at /status/{slug}, with all their forms: they need no session and show no secret. */
export function statusPages(deps: StatusDeps): Hono {
  const monotonic = deps.monotonic ?? (() => performance.now());
  const site = {
    ...deps,
    pages: createOpenPages({ database: deps.database, readView: createReadStatusView(deps), monotonic }),
  };
  const tooLarge = (c: Context) =>
    answerNote(c, deps.assets, { status: 413, title: 'Too large', text: 'A form of this page sends less.' });
  const one = new Hono()
    .get('/', etag(), (c) => answerPage(site, c, { isEmbedded: false }))
    .get('/embed', etag(), (c) => answerPage(site, c, { isEmbedded: true }))
    .post('/', bodyLimit({ maxSize: 4096, onError: tooLarge }), passwordForm(site, monotonic));
  for (const each of representations(site)) one.get(each.path, etag(), (c) => answerFile(site, c, each));
  return new Hono().route('/status/:slug', one);
}

type Representation = {
  readonly path: string;
  /** What it is made once under: only of badges there are several. An address has many spellings, and any query. */
  readonly name: (c: Context) => string;
  readonly make: Make;
};

function representations(site: Site): readonly Representation[] {
  const of = (c: Context) => ({ job: c.req.query('job'), group: c.req.query('group') });
  const one = (path: string, make: Make): Representation => ({ path, name: () => path, make });
  const badge = (path: string, make: (shown: Shown, badgeOf: BadgeOf) => Rendered | null): Representation => ({
    path,
    name: (c) => `${path} ${JSON.stringify([of(c).job, of(c).group])}`,
    make: (shown, c) => make(shown, of(c)),
  });
  return [
    one('/feed.atom', atomFeed),
    one('/feed.json', jsonFeed),
    one('/calendar.ics', (shown) => calendarOf(site, shown)),
    one('/status.json', statusJson),
    badge('/badge.json', badgeJson),
    badge('/badge.svg', badgeSvg),
  ];
}

async function calendarOf(site: Site, shown: Shown): Promise<Rendered> {
  const { groups, asOf } = shown.view;
  const ids = [...new Set(groups.flatMap(({ jobs }) => jobs.map(({ jobId }) => jobId)))];
  // While the database is away the calendar has to wait; the page need not.
  const expected = await readExpected(site, ids, { until: asOf + 30 * DAY_MS, most: MOST_OF_JOB });
  return calendar(shown, expected);
}

const slugOf = (c: Context): string => c.req.param('slug') ?? '';
const baseOf = (c: Context): string => (isAtOwnHost(c) ? '' : `/status/${slugOf(c)}`);
const door = (site: Site, c: Context) => ({ assets: site.assets, path: baseOf(c) || '/' });

async function answerPage(site: Site, c: Context, { isEmbedded }: { readonly isEmbedded: boolean }): Promise<Response> {
  try {
    const opened = await openOf(site, c);
    const isIn = opened && (isAdmitted(c, opened.page, opened.now) || (isEmbedded && hasKey(c, opened.page)));
    if (!isIn) return answerDoor(c, door(site, c));
    const shown = await shownOf(site, c, opened);
    const Body = isEmbedded ? EmbeddedPage : PublicPage;
    const body = await kept(shown, isEmbedded ? 'embed' : 'page', () =>
      html(<Body shown={shown} assets={site.assets} />),
    );
    const indexable = isListed(shown) && !isEmbedded;
    return c.body(body?.body ?? '', 200, { ...pageHeaders({ isEmbedded, indexable }), ...sentAs(shown, body) });
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    c.header('Retry-After', String(RETRY_AFTER_SECONDS));
    return answerNote(c, site.assets, {
      status: 503,
      title: 'Not now',
      text: 'Rollcall cannot reach its database right now, so how the jobs stand is not known. Please try again in a moment.',
    });
  }
}

const html = async (page: JSX.Element): Promise<Rendered> => ({
  type: 'text/html; charset=utf-8',
  body: String(await page),
});

/** For programs: whoever may not see it, and what is not there, get the same short answer. */
async function answerFile(site: Site, c: Context, { name, make }: Representation): Promise<Response> {
  const headers = { ...COMMON_HEADERS, 'X-Robots-Tag': 'noindex, nofollow', 'Access-Control-Allow-Origin': '*' };
  const refusal = { ...headers, 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' };
  try {
    const opened = await openOf(site, c);
    const isIn = opened && (isAdmitted(c, opened.page, opened.now) || hasKey(c, opened.page));
    const shown = isIn ? await shownOf(site, c, opened) : null;
    const rendered = shown && (await kept(shown, name(c), () => make(shown, c)));
    if (!shown || !rendered) return c.body('There is nothing here, or it needs its key.\n', 404, refusal);
    return c.body(rendered.body, 200, {
      ...headers,
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
      ...sentAs(shown, rendered),
    });
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    return c.body('Not now.\n', 503, { ...refusal, 'Retry-After': String(RETRY_AFTER_SECONDS) });
  }
}

function sentAs({ page }: Shown, rendered: Rendered | null) {
  return {
    'Content-Type': rendered?.type ?? 'text/plain',
    ...(page.passwordHash === null
      ? { 'Cache-Control': `public, max-age=${SECONDS_FRESH}` }
      : { 'Cache-Control': 'private, no-cache', Vary: 'Cookie' }),
  };
}

async function openOf({ pages }: Site, c: Context): Promise<OpenPage | null> {
  const slug = slugOf(c);
  return isSlug(slug) ? pages.open(slug) : null;
}

async function shownOf({ publicUrl }: Site, c: Context, { page, view }: OpenPage): Promise<Shown> {
  return { page, base: baseOf(c), url: statusPageUrl(page, publicUrl), key: keyOf(page), ...(await view()) };
}

/** What was made of a view is made once. */
const made = new WeakMap<StatusView, Map<string, Promise<Rendered | null>>>();

function kept({ view, isStale, base }: Shown, name: string, make: () => ReturnType<Make>): Promise<Rendered | null> {
  const all = made.get(view) ?? new Map<string, Promise<Rendered | null>>();
  made.set(view, all);
  const key = `${name} ${base} ${isStale}`;
  const known = all.get(key);
  if (known) return known;
  const making = Promise.resolve(make());
  all.set(key, making);
  // Names of badges come from outside: only those of something are kept. What failed is tried again.
  making.then(
    (rendered) => rendered === null && all.delete(key),
    () => all.delete(key),
  );
  return making;
}

/** Ten guesses at once and six a minute an address: of eight characters nobody finds any so. */
function passwordForm(site: Site, monotonic: () => number): (c: Context) => Promise<Response> {
  const guesses = createRateLimit({ burst: 10, perMinute: 6, monotonic });
  const check = createPasswordCheck();
  return async (c) => {
    const incoming = (c.env as { incoming?: IncomingMessage } | undefined)?.incoming;
    const source = site.clientAddress(incoming?.socket.remoteAddress, c.req.header('x-forwarded-for'));
    if (guesses.isExhausted(source)) {
      c.header('Retry-After', String(guesses.retryAfterSeconds(source)));
      return answerDoor(c, door(site, c), { status: 429, text: 'Too many passwords were tried. Wait a minute.' });
    }
    // Before it is looked at: a hundred at the same time are a hundred.
    guesses.count(source);
    const password = await readPassword(c);
    try {
      const opened = await openOf(site, c);
      const isRight = await check(opened?.page ?? null, password);
      if (!opened || !isRight) {
        return answerDoor(c, door(site, c), { status: 403, text: 'This password opens no page here.' });
      }
      const path = baseOf(c) || '/';
      admit(c, opened.page, { now: opened.now, path, secure: site.publicUrl.startsWith('https:') });
      return c.redirect(path, 303);
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
      c.header('Retry-After', String(RETRY_AFTER_SECONDS));
      return answerNote(c, site.assets, { status: 503, title: 'Not now', text: 'Please try again in a moment.' });
    }
  };
}

/** Empty where there is none. */
async function readPassword(c: Context): Promise<string> {
  try {
    const { password } = await c.req.parseBody();
    return typeof password === 'string' ? password : '';
  } catch (error) {
    if (error instanceof TypeError) return '';
    throw error;
  }
}
