import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Run, rollcall } from '../cli/process.ts';
import {
  createHttpReceiver,
  createSmtpReceiver,
  type HttpReceiver,
  readMail,
  type SmtpReceiver,
} from '../support/receivers.ts';
import { curl } from '../web/harness.ts';
import { BROKEN, type Breakage, GRACE_S, JOBS, keyOf, slugs, TICK_S, timeOf, ZONE } from './crontab-jobs.ts';
import { type Told, toldByMail, toldBySlack, verifiedBody } from './crontab-messages.ts';
import { type LossyProxy, startLossyProxy } from './crontab-proxy.ts';

// A real crontab (crontab.sh) runs real curls against the real service, which mails, posts to Slack and calls a webhook.
// Every job is broken in its own way, at the same time, then mended. Schedules are in real seconds.

/** The schedule takes its time. */
vi.setConfig({ testTimeout: 120_000 });

const API_KEY = 'api-key-of-the-crontab-proof';
const PING_KEY = 'ping-key-of-the-crontab-proof';
const SECRET = `whsec_${Buffer.from('thirty-two bytes of the receiver').toString('base64')}`;

type Occurrence = {
  readonly key: string;
  readonly scheduled_for: string;
  readonly state: string;
  readonly completions: number;
  readonly completed_at: string | null;
  readonly covered_by: string | null;
};
type Ping = {
  readonly id: number;
  readonly kind: string;
  readonly exit_code: number | null;
  readonly rid: string | null;
  readonly key: string | null;
  readonly matched_by: string;
  readonly body_bytes: number;
};
type Incident = {
  readonly id: number;
  readonly job: string;
  readonly kind: string;
  readonly state: string;
  readonly occurrence_count: number;
  readonly occurrences: readonly { readonly key: string; readonly state: string }[];
};
type JobHistory = {
  readonly uuid: string;
  readonly occurrences: readonly Occurrence[];
  readonly pings: readonly Ping[];
};

/** Everything that was told and is recorded once all is mended and the crontab has gone on for a while. */
type Aftermath = {
  readonly incidents: readonly Incident[];
  readonly jobs: ReadonlyMap<string, JobHistory>;
  readonly ran: readonly { readonly due: number; readonly slug: string; readonly mode: string }[];
  readonly curls: readonly { readonly slug: string; readonly code: number }[];
  readonly told: ReadonlyMap<string, readonly Told[]>;
  readonly hooks: HttpReceiver['requests'];
  /** Every message as it came, and mails also as they are read. */
  readonly everything: readonly string[];
};

let folder: string;
let service: Run;
let url: string;
let smtp: SmtpReceiver;
let http: HttpReceiver;
let proxy: LossyProxy;
let crontab: ChildProcess | null = null;
const stories = new Map<string, Promise<void>>();
/** Awaited by the tests; nothing changes any more. */
let after: Promise<Aftermath>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-crontab-proof-'));
  // As root the database runs as another user, who must get in.
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'jobs'));
  [smtp, http] = await Promise.all([createSmtpReceiver(), createHttpReceiver()]);
  service = rollcall(['serve'], {
    DATA_DIR: join(folder, 'data'),
    PORT: '0',
    ROLLCALL_API_KEY: API_KEY,
    ROLLCALL_PING_KEY: PING_KEY,
    OUTBOUND_ALLOW: '127.0.0.0/8',
    SMTP_URL: smtp.url,
    MAIL_FROM: 'Rollcall <rollcall@example.org>',
  });
  [, url = ''] = await service.waitFor(/"url":"([^"]+)".*rollcall runs/);
  proxy = await startLossyProxy(url);
  proxy.lose('retried-503', '503', '503');
  proxy.lose('retried-drop', 'drop', 'drop');
  proxy.lose('retried-timeout', 'hang');
  await setUpChannels();
  const script = fileURLToPath(new URL('crontab.sh', import.meta.url));
  crontab = spawn('sh', [script, folder, url, PING_KEY, proxy.url], { detached: true, stdio: 'ignore' });
  await setUpJobs();
  for (const slug of slugs) {
    const story = breakAndMend(slug, JOBS[slug]?.mode ?? '');
    story.catch(() => undefined);
    stories.set(slug, story);
  }
  after = lookBack();
  after.catch(() => undefined);
}, 90_000);

afterAll(async () => {
  stopCrontab();
  service?.child.kill('SIGTERM');
  await service?.ended;
  await Promise.all([smtp?.close(), http?.close(), proxy?.close()]);
  if (folder) await rm(folder, { recursive: true, force: true });
}, 30_000);

/** With what it has started. */
function stopCrontab(): void {
  if (crontab?.pid !== undefined && crontab.exitCode === null) process.kill(-crontab.pid, 'SIGKILL');
  crontab = null;
}

/** Waits for a condition. */
const until = <T>(condition: () => T | Promise<T>, timeout = 60_000): Promise<T> =>
  vi.waitFor(condition, { timeout, interval: 200 });

async function put(path: string, body: object): Promise<void> {
  const headers = ['-H', `Authorization: Bearer ${API_KEY}`, '-H', 'Content-Type: application/json'];
  const { exitCode, output, errors } = await curl([
    '--fail-with-body',
    ...['-X', 'PUT', `${url}/api/v1/${path}`],
    ...headers,
    ...['-d', JSON.stringify(body)],
  ]);
  expect(exitCode, `PUT ${path}: ${errors}${output}`).toBe(0);
}

/** Three channels that all share, and for each job a mailbox and a Slack channel of its own. */
async function setUpChannels(): Promise<void> {
  await put('channels/ops-mail', { kind: 'email', to: 'ops@example.org' });
  await put('channels/ops-slack', { kind: 'slack', url: `${http.url}/slack/ops` });
  await put('channels/hook', { kind: 'webhook', url: `${http.url}/hook`, secret: SECRET });
  for (const slug of slugs) {
    await put(`channels/${slug}-mail`, { kind: 'email', to: `${slug}@example.org` });
    await put(`channels/${slug}-slack`, { kind: 'slack', url: `${http.url}/slack/${slug}` });
  }
}

/** Right after a tick, so that the first run of every job is still to come. */
async function setUpJobs(): Promise<void> {
  const ticks = async () => [...(await readFile(join(folder, 'log'), 'utf8')).matchAll(/^(\d+) - tick$/gm)];
  const before = (await ticks().catch(() => [])).length;
  const last = await until(async () => {
    const seen = await ticks();
    expect(seen.length).toBeGreaterThan(before);
    return Number(seen.at(-1)?.[1]);
  });
  const anchor = last + TICK_S;
  await Promise.all(
    slugs.map(async (slug) => {
      const { policy, mode, every } = JOBS[slug] as Breakage;
      await put(`jobs/${slug}`, {
        zone: ZONE,
        schedules: [{ every: `${every}s`, anchor: new Date(anchor * 1000).toISOString() }],
        missed_runs: policy,
        grace: `${GRACE_S}s`,
        channels: [...(opsHear(slug) ? ['ops-mail', 'ops-slack'] : []), 'hook', `${slug}-mail`, `${slug}-slack`],
      });
      // What comes often is well at first.
      await setMode(slug, slug in BROKEN && every === TICK_S ? 'ok' : mode, anchor);
    }),
  );
}

/** A message to ops may leave in the middle of what passes quickly: it goes 5 s after the first event of any job. */
const opsHear = (slug: string): boolean => BROKEN[slug]?.mend !== undefined || !(slug in BROKEN);

const anchors = new Map<string, number>();

async function setMode(slug: string, mode: string, anchor = anchors.get(slug) ?? 0): Promise<void> {
  anchors.set(slug, anchor);
  await writeFile(join(folder, `new-${slug}`), `${JOBS[slug]?.every} ${anchor} ${mode}\n`);
  await rename(join(folder, `new-${slug}`), join(folder, 'jobs', slug));
}

/** What happens to one job, from well to broken to well again. */
async function breakAndMend(slug: string, mode: string): Promise<void> {
  const broken = BROKEN[slug];
  if (!broken) return void (await completedAfter(slug, 0, 2));
  if (broken.every === TICK_S) {
    await completedAfter(slug, 0);
    await setMode(slug, mode);
  }
  if (broken.mend) {
    await until(() => expect(moodsTold(slug)).toEqual(everywhere(slug, ['problem'])));
    const { status } = (await get(`jobs/${slug}`)) as { status: string };
    expect(status).toBe(broken.status);
    const { incidents } = (await get(`incidents?state=open&job=${slug}`)) as { incidents: Incident[] };
    expect(incidents.map(({ kind }) => kind)).toEqual([broken.kind]);
  } else await until(() => expect(Object.values(moodsTold(slug)).flat()).toContain('recovered'));
  const mendedAt = Date.now();
  await setMode(slug, 'ok');
  if (broken.mend === 'the lock') await writeFile(join(folder, `go-${slug}`), '');
  if (broken.mend === 'the debt') await payDebts(slug, mendedAt);
  const both = broken.mend ? ['problem', 'recovered'] : ['recovered'];
  await until(() => expect(moodsTold(slug)).toEqual(everywhere(slug, both)));
  await completedAfter(slug, Date.now());
}

function everywhere(slug: string, moods: readonly string[]) {
  const ops = opsHear(slug) ? moods : [];
  return { mail: moods, slack: moods, opsMail: ops, opsSlack: ops };
}

/** Waits until runs that were due later than this have been completed in time. */
async function completedAfter(slug: string, instant: number, count = 1): Promise<void> {
  await until(async () => {
    const since = `after=${new Date(instant).toISOString()}`;
    const { occurrences } = (await get(
      `jobs/${slug}/occurrences?state=on_time${instant > 0 ? `&${since}` : ''}`,
    )) as Pick<JobHistory, 'occurrences'>;
    expect(occurrences.length, slug).toBeGreaterThanOrEqual(count);
  });
}

/** The first with the line of its mail, the others by their keys in the incident. A good run alone ends nothing. */
async function payDebts(slug: string, since: number): Promise<void> {
  await completedAfter(slug, since);
  expect(moodsTold(slug)).toEqual(everywhere(slug, ['problem']));
  const [mail] = mailsTo(slug);
  const [, line = '', first] = /^ {2,}(curl .*occ=([^\s"]+).*)$/m.exec(readMail(mail ?? '').text) ?? [];
  const env = { ...process.env, PING_URL: `${url}/ping/${PING_KEY}/${slug}` };
  expect((await promisify(execFile)('sh', ['-c', line], { env })).stdout).toBe('OK');
  const { incidents } = (await get(`incidents?state=open&job=${slug}`)) as { incidents: Incident[] };
  const keys = incidents.flatMap(({ occurrences }) => occurrences).map(({ key }) => key);
  expect(keys[0]).toBe(first);
  for (const key of keys.slice(1)) {
    const paid = await curl(['-f', '-D', '-', `${url}/ping/${PING_KEY}/${slug}/0?occ=${key}`]);
    expect(paid.output).toMatch(/rollcall-match: key/i);
    expect(paid.output.toLowerCase()).toContain(`rollcall-occurrence: ${key.toLowerCase()}`);
  }
}

const mailsTo = (name: string): string[] =>
  smtp.mails.filter(({ to }) => to.includes(`${name}@example.org`)).map(({ raw }) => raw);
const postsTo = (name: string): string[] =>
  http.requests.filter(({ path }) => path === `/slack/${name}`).map(({ body }) => body);

const memory = new Map<string, readonly Told[]>();

/** Messages do not change: each is read once. */
function readOnce(text: string, read: (text: string) => readonly Told[]): readonly Told[] {
  const known = memory.get(text) ?? read(text);
  memory.set(text, known);
  return known;
}

const mailed = (name: string): Told[] => mailsTo(name).flatMap((raw) => readOnce(raw, toldByMail));
const slacked = (name: string): Told[] =>
  postsTo(name).flatMap((body) => readOnce(body, (text) => toldBySlack(JSON.parse(text))));

function moodsTold(slug: string) {
  const moods = (all: readonly Told[]): string[] => all.filter(({ job }) => job === slug).map(({ mood }) => mood);
  return {
    mail: moods(mailed(slug)),
    slack: moods(slacked(slug)),
    opsMail: moods(mailed('ops')),
    opsSlack: moods(slacked('ops')),
  };
}

async function get(path: string): Promise<unknown> {
  const response = await fetch(`${url}/api/v1/${path}`, { headers: { Authorization: `Bearer ${API_KEY}` } });
  if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function lookBack(): Promise<Aftermath> {
  await Promise.allSettled(stories.values());
  await until(async () => expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^rollcall_outbox_waiting 0$/m));
  const { incidents } = (await get('incidents?limit=500')) as { incidents: Incident[] };
  const histories = await Promise.all(
    slugs.map(async (slug) => {
      const [job, occurrences, pings] = await Promise.all([
        get(`jobs/${slug}`),
        get(`jobs/${slug}/occurrences?limit=500`),
        get(`jobs/${slug}/pings?limit=500`),
      ]);
      return [slug, Object.assign({}, job, occurrences, pings) as JobHistory] as const;
    }),
  );
  const log = await readFile(join(folder, 'log'), 'utf8');
  stopCrontab();
  const messages = [...smtp.mails.map(({ raw }) => raw), ...http.requests.map(({ body }) => body)];
  await show();
  const runs = [...log.matchAll(/^(\d+) (\S+) run (\S+)$/gm)];
  return {
    incidents,
    jobs: new Map(histories),
    ran: runs.map(([, due, slug = '', mode = '']) => ({ due: Number(due), slug, mode })),
    curls: [...log.matchAll(/^\d+ (\S+) curl (\d+)$/gm)].map(([, slug = '', code]) => ({ slug, code: Number(code) })),
    told: new Map(
      ['ops', ...slugs].flatMap((name) => [
        [`mail to ${name}`, mailed(name)],
        [`slack of ${name}`, slacked(name)],
      ]),
    ),
    hooks: http.requests.filter(({ path }) => path === '/hook'),
    everything: messages.map((text) => `${text}\n${text.includes('Message-ID') ? Object.values(readMail(text)) : ''}`),
  };
}

/** For people who want to read the messages themselves: CRONTAB_PROOF_KEEP names a folder for them. */
async function show(): Promise<void> {
  const keep = process.env['CRONTAB_PROOF_KEEP'];
  if (keep === undefined) return;
  await mkdir(keep, { recursive: true });
  const mails = smtp.mails.map(({ to, raw }) => `To ${to}\n${raw}\n=== as text:\n${readMail(raw).text}`);
  const posts = http.requests.map(({ path, body }) => `${path}\n${JSON.stringify(JSON.parse(body), null, 2)}`);
  await writeFile(join(keep, 'mails.txt'), mails.join('\n\n########\n\n'));
  await writeFile(join(keep, 'posts.txt'), posts.join('\n\n########\n\n'));
  await writeFile(join(keep, 'html.json'), JSON.stringify(smtp.mails.map(({ raw }) => readMail(raw).html)));
  await writeFile(join(keep, 'log.txt'), await readFile(join(folder, 'log'), 'utf8'));
  await writeFile(join(keep, 'service.txt'), service.printed.out + service.printed.err);
}

/** The keys of the runs that the crontab began in the job's broken mode. */
async function brokenKeys(slug: string): Promise<string[]> {
  const { ran } = await after;
  return ran.filter((run) => run.slug === slug && run.mode === BROKEN[slug]?.mode).map(({ due }) => keyOf(due));
}

test.each(Object.entries(BROKEN))('%s: told once, then its end with what became of each run', async (slug, it) => {
  await stories.get(slug);
  const { told } = await after;
  const keys = await brokenKeys(slug);
  const [first = '', last = ''] = [keys[0], keys.at(-1)].map((key) => timeOf(key ?? ''));
  // So few stand in the title already.
  const isFew = keys.length <= 3;
  const runs = isFew ? [] : keys.map((one) => `${timeOf(one)}: ${it.became}`);
  const few = keys
    .map(timeOf)
    .join(', ')
    .replace(/, (?!.*, )/, ' and ');
  const fate = isFew ? `${few} ${it.became}` : `${keys.length} ${it.became} (${first} to ${last})`;
  // Unless the run itself was done at last, a later one ended it, whose time nobody knows beforehand.
  const isOwn = /after all|has finished/.test(it.ended);
  const well = isOwn ? '' : '[\\d:]+ \\+05:30 completed( in time| late)?; before: ';
  const title = expect.stringMatching(new RegExp(`^${slug} ${it.ended}: ${well}${fate.replace(/[+()]/g, '\\$&')}$`));
  const problem = { job: slug, mood: 'problem', title: `${slug} ${it.says}: due ${first}`, runs: [] };
  const end = { job: slug, mood: 'recovered', title, runs };
  const expected = it.mend ? [problem, end] : [end];
  const ops = opsHear(slug) ? ['mail to ops', 'slack of ops'] : [];
  for (const channel of [`mail to ${slug}`, `slack of ${slug}`, ...ops])
    expect(
      told.get(channel)?.filter(({ job }) => job === slug),
      channel,
    ).toEqual(expected);
});

test('the webhook is signed and told each opening and each end once, and nothing else', async () => {
  const { hooks, incidents } = await after;
  const bodies = hooks.map(({ headers, body }) => verifiedBody(headers, body, SECRET));
  expect(new Set(bodies.map(({ id }) => id)).size).toBe(bodies.length);
  const events = bodies.flatMap((body) => body.events);
  expect(events.map(({ type, job }) => `${job.slug} ${type}`).sort()).toEqual(
    Object.keys(BROKEN)
      .flatMap((slug) => [`${slug} incident.opened`, `${slug} incident.resolved`])
      .sort(),
  );
  for (const [slug, { kind, state, end }] of Object.entries(BROKEN)) {
    const [opened, resolved] = events.filter(({ job }) => job.slug === slug);
    const keys = await brokenKeys(slug);
    const { id } = incidents.find(({ job }) => job === slug) ?? {};
    expect(opened, slug).toMatchObject({
      type: 'incident.opened',
      incident: { id, kind, state: 'open', resolved_at: null, occurrence_count: 1 },
      job: { slug, name: slug, tags: [] },
      occurrences: [{ key: keys[0], state }],
    });
    expect(resolved, slug).toMatchObject({
      type: 'incident.resolved',
      incident: { id, kind, state: 'resolved', occurrence_count: keys.length },
      occurrences: keys.map((key) => ({ key, state: end })),
    });
  }
});

test('no channel heard of anything else', async () => {
  const { told } = await after;
  for (const slug of slugs) {
    for (const channel of [`mail to ${slug}`, `slack of ${slug}`])
      expect(
        told.get(channel)?.filter(({ job }) => job !== slug || !(slug in BROKEN)),
        channel,
      ).toEqual([]);
  }
  for (const channel of ['mail to ops', 'slack of ops'])
    expect(new Set(told.get(channel)?.map(({ job }) => job)), channel).toEqual(
      new Set(Object.keys(BROKEN).filter(opsHear)),
    );
});

test('the API tells the same: one incident a breakage, about the runs that were broken', async () => {
  const { incidents } = await after;
  expect(incidents.map(({ job }) => job).sort()).toEqual(Object.keys(BROKEN).sort());
  for (const { job, ...incident } of incidents) {
    const keys = await brokenKeys(job);
    expect(incident, job).toMatchObject({
      kind: BROKEN[job]?.kind,
      state: 'resolved',
      occurrence_count: keys.length,
      occurrences: keys.map((key) => ({ key, state: BROKEN[job]?.end })),
    });
  }
});

test('the ledger has every run of the crontab, and each ended as it went', async () => {
  const { jobs, ran } = await after;
  for (const slug of slugs) {
    const lines = ran.filter((run) => run.slug === slug);
    const { occurrences = [] } = jobs.get(slug) ?? {};
    // The newest may be under way.
    const judged = occurrences.filter(({ state }) => state !== 'expected' && state !== 'running').reverse();
    expect(judged.length, slug).toBeGreaterThanOrEqual(lines.length - 1);
    const expected = lines.slice(0, judged.length).map(({ due, mode }) => ({
      key: keyOf(due),
      scheduled_for: new Date(due * 1000).toISOString().replace('.000Z', 'Z'),
      state: mode === BROKEN[slug]?.mode ? BROKEN[slug]?.end : 'on_time',
      completions: mode === 'twice' ? 2 : ['missed', 'coalesced', 'failed'].includes(stateOf(slug, mode)) ? 0 : 1,
    }));
    expect(judged, slug).toMatchObject(expected);
    for (const [index, { state, covered_by }] of judged.entries()) {
      const later = judged.slice(index).find(({ completions }) => completions > 0);
      expect(covered_by, slug).toBe(state === 'coalesced' ? later?.key : null);
    }
  }
});

const stateOf = (slug: string, mode: string): string =>
  mode === BROKEN[slug]?.mode ? (BROKEN[slug]?.end ?? '') : 'on_time';

test('the pings are what curl sent: nothing of a wrong key or slug, and the output of a failure byte for byte', async () => {
  const { jobs, ran, curls } = await after;
  const pingsOf = (slug: string) => [...(jobs.get(slug)?.pings ?? [])].reverse();
  const codesOf = (slug: string) => new Set(curls.filter((one) => one.slug === slug).map(({ code }) => code));
  for (const slug of ['wrong-key', 'wrong-slug']) {
    const good = ran.filter((run) => run.slug === slug && run.mode === 'ok').map(({ due }) => keyOf(due));
    const heard = pingsOf(slug);
    expect(
      heard.map(({ key }) => key),
      slug,
    ).toEqual(good.slice(0, heard.length));
    // The newest may be under way.
    expect(heard.length, slug).toBeGreaterThanOrEqual(good.length - 1);
    // curl says 22 of a 404, and does not come again.
    expect(codesOf(slug), slug).toEqual(new Set([0, 22]));
  }
  const typo = await fetch(`${url}/api/v1/jobs/wrong-slug-typo`, { headers: { Authorization: `Bearer ${API_KEY}` } });
  expect(typo.status).toBe(404);

  const failures = pingsOf('failing').filter(({ kind }) => kind === 'fail');
  expect(failures.map(({ key, exit_code }) => [key, exit_code])).toEqual(
    (await brokenKeys('failing')).map((key) => [key, 7]),
  );
  const body = await fetch(`${url}/api/v1/jobs/failing/pings/${failures[0]?.id}/body`, {
    headers: { Authorization: `Bearer ${API_KEY}` },
  });
  expect(await body.text()).toBe('14 of 15 tables dumped\npg_dump: error: <invoices> & co: No space left on device\n');

  const [twiceKey] = await brokenKeys('twice');
  const doubled = pingsOf('twice').filter(({ key, rid }) => key === twiceKey && rid !== null);
  expect(new Set(doubled.map(({ rid }) => rid)).size).toBe(2);
  expect(doubled.map(({ kind, matched_by }) => `${kind} ${matched_by.replace('again', 'current')}`).sort()).toEqual([
    'start current',
    'start current',
    'success rid',
    'success rid',
  ]);
  const healthy = pingsOf('healthy').slice(0, 2);
  expect(healthy.map(({ kind, matched_by, body_bytes }) => [kind, matched_by, body_bytes])).toEqual([
    ['start', 'current', 0],
    ['success', 'running', 22],
  ]);
  for (const slug of slugs.filter((one) => !one.startsWith('wrong'))) expect(codesOf(slug), slug).toEqual(new Set([0]));
});

test.each([
  ['retried-503', ['503', '503', null]],
  ['retried-drop', ['drop', 'drop', null]],
  ['retried-timeout', ['hang', null]],
])('%s: a ping whose reply was lost comes again and counts once', async (slug, mishaps) => {
  await stories.get(slug);
  const { jobs, ran } = await after;
  const [first] = ran.filter((run) => run.slug === slug);
  const key = keyOf(first?.due ?? 0);
  const seen = proxy.forwarded.filter((one) => one.slug === slug).slice(0, mishaps.length);
  expect(seen.map(({ mishap }) => mishap)).toEqual(mishaps);
  const matches = ['current', ...mishaps.slice(1).map(() => 'retry')];
  expect(seen.map(({ status, match, occurrence }) => ({ status, match, occurrence }))).toEqual(
    matches.map((match) => ({ status: 200, match, occurrence: key })),
  );
  expect(new Set(seen.map(({ body }) => body)).size).toBe(1);
  const { pings = [], occurrences = [] } = jobs.get(slug) ?? {};
  const heard = pings.filter((ping) => ping.key === key).reverse();
  expect(heard.map(({ matched_by }) => matched_by)).toEqual(matches);
  expect(occurrences.find((one) => one.key === key)).toMatchObject({ state: 'on_time', completions: 1 });
});

test('a failure is told with its output, a debt with the way to pay it, and the end answers the mail of the problem', async () => {
  await after;
  const [failure = ''] = mailsTo('failing').map((raw) => readMail(raw).text);
  expect(failure).toContain('  | pg_dump: error: <invoices> & co: No space left on device\n');
  expect(postsTo('failing')[0]).toContain('pg_dump: error: &lt;invoices&gt; &amp; co: No space left on device');
  for (const slug of Object.keys(BROKEN)) {
    const [problem = '', end = ''] = mailsTo(slug).map((raw) => readMail(raw).headers);
    const id = /^Message-ID: (<.+>)$/m.exec(problem)?.[1] ?? 'none';
    if (BROKEN[slug]?.mend) expect(end, slug).toContain(`In-Reply-To: ${id}`);
  }
});

test('no message and no log has a uuid, a ping URL or a key', async () => {
  const { everything, jobs } = await after;
  const secrets = [API_KEY, PING_KEY, SECRET, SECRET.slice(6), ...[...jobs.values()].map(({ uuid }) => uuid)];
  expect(jobs.get('healthy')?.uuid).toMatch(/^[\da-f-]{36}$/);
  for (const text of [...everything, service.printed.out, service.printed.err]) {
    for (const secret of secrets) expect(text).not.toContain(secret);
    expect(text).not.toMatch(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/i);
  }
  for (const text of everything) expect(text).not.toContain('/ping/');
});
