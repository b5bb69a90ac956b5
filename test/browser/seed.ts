import { layOutJob, layOutRow, type TestApi } from '../web/api/api.ts';

/** When the seeded site is looked at: the morning after the clocks went back in Berlin. */
const NOW = '2026-10-26T09:10:00Z';
export const BEGINNING = '2026-10-22T12:00:00Z';

const BERLIN = { zone: 'Europe/Berlin' };
/** Nothing in it may widen a page of 360 px. */
const LONG = `a-name-without-a-place-to-break-${'x'.repeat(60)}`;

const JOBS: Readonly<Record<string, object>> = {
  'nightly-backup': {
    ...BERLIN,
    name: 'Nightly backup',
    description: 'Dumps every database and copies it to the other site.',
    tags: ['db', 'critical'],
    schedules: [{ cron: '30 2 * * *' }],
    missed_runs: 'coalesce',
    start_within: '10m',
    grace: '45m',
    max_runtime: '2h',
  },
  rates: {
    ...BERLIN,
    name: 'Exchange rates',
    tags: ['data'],
    schedules: [{ cron: '*/30 1-3 * * *' }],
    missed_runs: 'skip',
  },
  invoices: {
    ...BERLIN,
    name: 'Invoices',
    tags: ['billing', 'critical'],
    schedules: [{ cron: '0 4 * * *' }],
    missed_runs: 'catch_up',
    grace: '20m',
  },
  export: {
    ...BERLIN,
    name: 'Invoice export',
    schedules: [{ cron: '30 4 * * *' }],
    missed_runs: 'catch_up',
    after: ['invoices'],
  },
  digest: { zone: 'Europe/London', name: 'Digest mail', schedules: [{ cron: '0 8 * * 1-5' }], missed_runs: 'skip' },
  warehouse: {
    zone: 'UTC',
    name: 'Warehouse',
    schedules: [{ cron: '0 9 * * *' }],
    missed_runs: 'coalesce',
    grace: '5m',
  },
  restock: {
    zone: 'UTC',
    name: 'Restock',
    schedules: [{ every: '3h' }],
    missed_runs: 'catch_up',
    max_catch_up: 2,
    grace: '10m',
  },
  pricing: {
    zone: 'America/New_York',
    name: 'Pricing',
    schedules: [{ cron: '0 3 * * *' }],
    missed_runs: 'skip',
    grace: '5m',
  },
  legacy: { zone: 'UTC', name: 'Legacy pull', schedules: [{ cron: '0 6 * * *' }], missed_runs: 'skip' },
  gateway: { zone: 'UTC', name: 'Gateway', schedules: [{ heartbeat: '6h' }], grace: '1h' },
  upgrade: {
    zone: 'UTC',
    name: 'Schema upgrade',
    tags: ['db'],
    schedules: [{ cron: '0 1 * * *' }],
    missed_runs: 'skip',
  },
  fresh: {
    zone: 'Pacific/Auckland',
    name: LONG,
    tags: [LONG.slice(0, 50)],
    schedules: [{ cron: '0 12 1 * *' }],
    missed_runs: 'skip',
  },
};

/** A project in which everything has happened that a page can show. */
export async function fillSite(t: TestApi): Promise<void> {
  await put(t, '/channels/on-call', { kind: 'pagerduty', routing_key: 'R'.repeat(32), operator: true });
  await put(t, '/channels/team', {
    kind: 'email',
    to: 'team@example.org',
    remind_every: '4h',
    routes: { kinds: null, tags: ['db'] },
  });
  await put(t, '/channels/chat', { kind: 'slack', url: `https://hooks.slack.com/services/T0/B0/${'x'.repeat(24)}` });
  for (const [slug, body] of Object.entries(JOBS)) await put(t, `/jobs/${slug}`, body);
  await put(t, '/maintenance/db-upgrade', {
    name: 'Database upgrade',
    reason: 'PostgreSQL 17 to 18',
    tags: ['db'],
    from: '2026-10-24T00:30:00Z',
    until: '2026-10-24T02:00:00Z',
  });
  await put(t, '/maintenance/weekends', {
    weekly: [{ days: ['sat', 'sun'], start: '22:00', duration: '2h' }],
    ...BERLIN,
    jobs: ['digest'],
  });
  await put(t, '/maintenance/soon', { name: 'Network', from: '2026-10-27T20:00:00Z', duration: '2h' });
  for (const story of STORY) await tell(t, story);
  await t.at(NOW);
  await t.tick();
  await afterwards(t);
}

type Told = readonly [at: string, slug: string, what: 'start' | 'success' | 'fail' | 'pause' | 'log', body?: string];

const days = ['2026-10-23', '2026-10-24', '2026-10-25', '2026-10-26'];
const OUTPUT = 'connecting to db-3 …\npg_dump: error: <connection> timed out & gone\nexit 1';

const STORY: readonly Told[] = days
  .flatMap((day): readonly Told[] => {
    const hour = day < '2026-10-25' ? '00' : '01';
    return [
      [`${day}T${hour}:30:20Z`, 'nightly-backup', 'start'],
      [`${day}T${hour}:58:20Z`, 'nightly-backup', 'success', 'done: 8,211 rows'],
      [`${day}T${hour}:31:00Z`, 'rates', 'success'],
      [`${day}T02:01:00Z`, 'rates', 'success'],
      [`${day}T03:00:40Z`, 'invoices', day === '2026-10-26' ? 'fail' : 'success', OUTPUT],
      ...(day === '2026-10-26' ? [] : ([[`${day}T04:00:40Z`, 'export', 'success']] as const)),
      [`${day}T07:01:00Z`, 'pricing', 'success'],
      [`${day}T07:03:00Z`, 'pricing', 'success', 'again'],
      [`${day}T05:30:00Z`, 'gateway', 'success'],
      [`${day}T09:00:30Z`, 'warehouse', 'start'],
      ...(day === '2026-10-26' ? [] : ([[`${day}T09:03:30Z`, 'warehouse', 'success']] as const)),
      ...['00', '03', '06', '09', '12', '15', '18', '21']
        .filter((at) => `${day}T${at}` < '2026-10-25T18')
        .map((at): Told => [`${day}T${at}:01:00Z`, 'restock', 'success']),
      [`${day}T17:01:00Z`, 'nightly-backup', 'log', 'a word in between'],
    ];
  })
  .concat([
    ['2026-10-25T08:00:00Z', 'legacy', 'pause'],
    ['2026-10-25T11:00:00Z', 'warehouse', 'success', 'out of turn'],
  ])
  .filter(([at]) => at < NOW)
  .sort(([a], [b]) => (a < b ? -1 : 1));

async function tell(t: TestApi, [at, slug, what, text = '']: Told): Promise<void> {
  await t.at(at);
  if (what === 'pause') {
    await t.call('POST', `/jobs/${slug}/pause`);
    return;
  }
  const body = new TextEncoder().encode(text);
  await t.ping(slug, what, { body, bodyBytes: body.length, userAgent: 'curl/8.5.0' });
}

/** What people did since, and what no ping makes. */
async function afterwards(t: TestApi): Promise<void> {
  const { json } = await t.call('GET', '/incidents?state=open');
  const [first, second] = json.incidents as { id: string }[];
  await must(t, 'POST', `/incidents/${first?.id}/ack`);
  await must(t, 'POST', `/incidents/${second?.id}/snooze`, { until: '2026-10-26T18:00:00Z' });
  await must(t, 'PATCH', '/jobs/digest/occurrences/2026-10-23T08:00+01:00', { state: 'skipped', note: 'Holiday.' });
  await put(t, '/status-pages/acme', {
    title: 'Acme nightly',
    text: 'What runs while you sleep.',
    ...BERLIN,
    show_reasons: true,
    groups: [
      { name: 'Money', jobs: [{ job: 'invoices', name: 'Invoices' }, { job: 'export' }, { job: 'fresh' }] },
      { name: 'Data', tag: 'db' },
    ],
  });
  await put(t, '/status-pages/inside', {
    title: 'Inside',
    zone: 'UTC',
    password: 'open sesame',
    groups: [{ name: 'Critical', tag: 'critical' }],
  });
  await put(t, '/reports/weeks', { every: 'week', ...BERLIN, channels: ['team'] });
  await everyState(t);
  await t.database.transaction(async (tx) => {
    await tx.sql`update channels set dead_since = ${tx.now}, last_failure = '404 no_service' where slug = 'chat'`;
    await tx.sql`
      insert into blind_windows (after, until, kind, cause)
      values ('2026-10-24T10:00:00Z', '2026-10-24T10:05:00Z', 'blind', 'silent')`;
  });
}

const STATES = [
  'on_time',
  'late',
  'expired',
  'failed',
  'missed',
  'overdue',
  'running',
  'coalesced',
  'skipped',
  'unknown',
];

async function everyState(t: TestApi): Promise<void> {
  const begins = Date.parse('2026-10-25T22:00:00Z');
  const at = (index: number): string => new Date(begins + index * 3_600_000).toISOString();
  const id = await layOutJob(t, 'states', {
    at: BEGINNING,
    nextUnrecorded: '2026-10-26T10:00:00Z',
    name: 'Every state',
    missedRuns: 'catch_up',
  });
  for (const [index, state] of STATES.entries())
    await layOutRow(t, id, { at: at(index), state, completions: state === 'on_time' ? 2 : 0 });
}

const put = (t: TestApi, path: string, body: object) => must(t, 'PUT', path, body);

async function must(t: TestApi, method: string, path: string, body?: object): Promise<void> {
  const { status, json } = await t.call(method, path, body);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
}
