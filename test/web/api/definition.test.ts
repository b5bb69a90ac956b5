import { expect, test } from 'vitest';
import { definitionJson, parseDefinition } from '../../../src/web/api/definition.ts';
import { slugFlaw } from '../../../src/web/api/slug.ts';
import { loadZones } from '../../../src/zones.ts';

const zones = loadZones();
const context = { zones, channels: new Set(['ops', 'oncall']), jobs: new Set(['extract']) };
const daily = { schedules: [{ cron: '30 2 * * *' }], zone: 'Europe/Berlin', missed_runs: 'coalesce' };

const parse = (input: Record<string, unknown>) => parseDefinition('backup', input, context);

/** `path: message` of everything that is wrong. */
function wrong(input: Record<string, unknown>): readonly string[] {
  const result = parse(input);
  return result.ok ? [] : result.errors.map(({ path, message }) => `${path}: ${message}`);
}

/** The paths of everything that is wrong. */
const paths = (input: Record<string, unknown>): readonly string[] =>
  wrong(input).map((line) => line.split(': ')[0] ?? '');

test('a definition with only what is required takes every default', () => {
  const result = parse(daily);
  expect(result).toEqual({
    ok: true,
    value: {
      name: 'backup',
      description: '',
      tags: [],
      zone: 'Europe/Berlin',
      schedules: [{ cron: '30 2 * * *' }],
      missedRuns: 'coalesce',
      missedRunsReason: '',
      early: null,
      startWithin: null,
      grace: null,
      usefulFor: null,
      maxRuntime: null,
      maxCatchUp: null,
      throttle: null,
      overlap: 'forbid',
      alertAfter: {},
      after: [],
      duplicates: 'alert',
      unscheduled: 'record',
      channels: null,
    },
  });
});

test('an empty object is told all three things it lacks (PNG-013, SCH-047)', () => {
  expect(paths({})).toEqual(['zone', 'schedules', 'missed_runs']);
  expect(wrong({}).every((line) => line.includes('is required'))).toBe(true);
});

test('everything that is wrong is told at once', () => {
  const input = {
    schedules: [{ cron: '0 0 31 2 *' }, { every: '0s' }],
    zone: 'CST',
    missed_runs: 'maybe',
    grace: '-5m',
    tags: ['ok', 7],
    name: 42,
    retries: 3,
  };
  expect([...paths(input)].sort()).toEqual(
    ['grace', 'missed_runs', 'name', 'retries', 'schedules[0].cron', 'schedules[1].every', 'tags[1]', 'zone'].sort(),
  );
});

test('durations come in every spelling and go out in the short form, and PUT takes back what GET shows', () => {
  const input = {
    ...daily,
    schedules: [{ cron: '30 2 * * *' }, { every: 'PT90M', anchor: '2026-01-01T01:00:00+01:00' }],
    early: 0,
    start_within: '120s',
    grace: '0s',
    useful_for: 'PT6H',
    max_runtime: 5400,
    max_catch_up: 0,
    throttle: '60s',
    overlap: 'allow',
    channels: ['ops'],
    description: 'line one\nline two',
    tags: ['nightly', 'größe'],
  };
  const first = parse(input);
  if (!first.ok) throw new Error(JSON.stringify(first.errors));
  const json = definitionJson(first.value);
  expect(json).toMatchObject({
    schedules: [{ cron: '30 2 * * *' }, { every: '90m', anchor: '2026-01-01T00:00:00Z' }],
    early: '0s',
    start_within: '2m',
    grace: '0s',
    useful_for: '6h',
    max_runtime: '90m',
    max_catch_up: 0,
    throttle: '1m',
    overlap: 'allow',
  });
  expect(parse(json)).toEqual(first);
  const bare = parse(daily);
  if (!bare.ok) throw new Error('the bare definition is refused');
  expect(parse(definitionJson(bare.value)), 'null where the default applies').toEqual(bare);
});

test('null is the default only where GET shows it', () => {
  const tolerances = { early: null, start_within: null, grace: null, useful_for: null, max_runtime: null };
  const nulls = { ...tolerances, max_catch_up: null, throttle: null, channels: null };
  expect(paths({ ...daily, ...nulls })).toEqual([]);
  const others = { name: null, description: null, tags: null, overlap: null, duplicates: null, unscheduled: null };
  expect([...paths({ ...daily, ...others })].sort()).toEqual(Object.keys(others).sort());
  expect(paths({ zone: null, schedules: null, missed_runs: null })).toEqual(['zone', 'schedules', 'missed_runs']);
});

test('what a heartbeat does not take is refused with it', () => {
  const heartbeat = { schedules: [{ heartbeat: '1d' }], zone: 'UTC' };
  expect(paths(heartbeat)).toEqual([]);
  expect(paths({ ...heartbeat, missed_runs: null })).toEqual([]);
  expect(paths({ ...heartbeat, missed_runs: 'skip', early: '1m', useful_for: '2h' })).toEqual([
    'missed_runs',
    'early',
    'useful_for',
  ]);
  expect(wrong({ ...heartbeat, after: ['extract'] })).toEqual([expect.stringMatching(/^after: not with heartbeat/)]);
  expect(paths({ ...heartbeat, after: [] })).toEqual([]);
  expect(paths({ schedules: [{ heartbeat: 'soon' }], zone: 'UTC', missed_runs: 'skip' })).toEqual([
    'schedules[0].heartbeat',
    'missed_runs',
  ]);
});

test('an unknown field is told which ones there are', () => {
  const [line] = wrong({ ...daily, graze: '5m' });
  expect(line).toMatch(/^graze: unknown field: .*\bgrace\b/);
});

test('thresholds by kind: so many in a row, or of the last ones; one at once is the default and not kept', () => {
  const told = parse({
    ...daily,
    alert_after: { missing: { count: 3 }, failed: { count: 2, of: 5 }, late: { count: 1 } },
  });
  expect(told.ok && told.value.alertAfter).toEqual({ missing: { count: 3, of: 3 }, failed: { count: 2, of: 5 } });
  expect(told.ok && definitionJson(told.value).alert_after).toEqual(told.ok && told.value.alertAfter);
  expect(wrong({ ...daily, alert_after: '10s' })).toEqual([expect.stringMatching(/^alert_after: must be an object/)]);
  expect(
    paths({
      ...daily,
      alert_after: {
        gone: { count: 2 },
        missing: 3,
        failed: { count: 0 },
        late: { count: 3, of: 2 },
        expired: { of: 2 },
      },
    }),
  ).toEqual([
    'alert_after.missing',
    'alert_after.late.of',
    'alert_after.failed.count',
    'alert_after.expired.count',
    'alert_after.gone',
  ]);
});

test('the jobs that go first are known, others, each once', () => {
  const waits = parse({ ...daily, after: ['extract'] });
  expect(waits.ok && waits.value.after).toEqual(['extract']);
  expect(wrong({ ...daily, after: ['backup', 'nothing', 'extract', 'extract'] })).toEqual([
    'after[0]: a job cannot wait for itself',
    expect.stringMatching(/^after\[1\]: no such job/),
    'after[3]: is in the list twice: remove one',
  ]);
});

test('how what is owed is handed out: at once, one by one, or over an older run', () => {
  const catchUp = { ...daily, missed_runs: 'catch_up' };
  const owing = parse({ ...catchUp, throttle: '0s', max_catch_up: 10_000, overlap: 'allow' });
  expect(owing.ok && owing.value).toMatchObject({ throttle: 0, maxCatchUp: 10_000, overlap: 'allow' });
  for (const missed_runs of ['coalesce', 'skip']) {
    expect(paths({ ...daily, missed_runs, overlap: 'replace' })).toEqual([]);
  }
  expect(wrong({ ...catchUp, overlap: 'replace' })).toEqual([expect.stringMatching(/^overlap: .*catch_up/)]);
});

test.each([
  ['max_catch_up', -1],
  ['max_catch_up', 10_001],
  ['max_catch_up', 1.5],
  ['max_catch_up', '100'],
  ['throttle', '-10s'],
  ['throttle', '367d'],
  ['overlap', 'queue'],
  ['overlap', ['allow']],
  ['start_within', '0s'],
  ['useful_for', 0],
  ['max_runtime', 'PT0S'],
  ['grace', '367d'],
  ['max_runtime', 366 * 86_400 + 1],
  ['grace', '1.5h'],
  ['grace', 'P1M'],
  ['grace', ''],
  ['grace', true],
  ['grace', {}],
  ['grace', 1e300],
])('%s of %j is refused', (field, value) => {
  expect(paths({ ...daily, [field]: value })).toEqual([field]);
});

test('an explicit useful_for shorter than an explicit grace is refused', () => {
  expect(paths({ ...daily, useful_for: '5m', grace: '10m' })).toEqual(['useful_for']);
  expect(paths({ ...daily, useful_for: '10m', grace: '10m' })).toEqual([]);
  expect(paths({ ...daily, useful_for: '1m' })).toEqual([]);
});

test('texts have limits, and nothing that PostgreSQL cannot store gets through (STO-012)', () => {
  expect(paths({ ...daily, name: 'x'.repeat(201) })).toEqual(['name']);
  expect(paths({ ...daily, name: '😀'.repeat(200) })).toEqual([]);
  expect(paths({ ...daily, name: ' ' })).toEqual(['name']);
  expect(paths({ ...daily, description: 'x'.repeat(2001), missed_runs_reason: 'x'.repeat(501) })).toEqual([
    'description',
    'missed_runs_reason',
  ]);
  expect(paths({ ...daily, tags: Array.from({ length: 21 }, (_, i) => `t${i}`) })).toEqual(['tags']);
  expect(paths({ ...daily, tags: ['x'.repeat(51), '', 'twice', 'twice'] })).toEqual(['tags[0]', 'tags[1]', 'tags[3]']);
  expect(paths({ ...daily, name: 'a\0b', description: 'a\0b', tags: ['a\0b'] })).toEqual([
    'name',
    'description',
    'tags[0]',
  ]);
  expect(paths({ ...daily, name: 'half \ud83d' })).toEqual(['name']);
  expect(paths({ ...daily, name: 'two\nlines' })).toEqual(['name']);
});

test('channels must exist in the project; none at all is nobody', () => {
  expect(paths({ ...daily, channels: ['ops', 'pager', 'ops', 1] })).toEqual([
    'channels[1]',
    'channels[2]',
    'channels[3]',
  ]);
  const nobody = parse({ ...daily, channels: [] });
  expect(nobody.ok && nobody.value.channels).toEqual([]);
});

test('names of Object.prototype are neither fields nor values', () => {
  expect(paths(JSON.parse('{"__proto__": {"zone": "UTC"}, "constructor": 1}'))).toEqual([
    '__proto__',
    'constructor',
    'zone',
    'schedules',
    'missed_runs',
  ]);
});

test('the zone is kept as typed (SCH-045), and abbreviations and offsets are refused with a hint (SCH-046)', () => {
  for (const zone of ['Europe/Kyiv', 'Europe/Kiev', 'Asia/Kolkata', 'US/Pacific', 'UTC']) {
    const result = parse({ ...daily, zone });
    expect(result.ok && result.value.zone).toBe(zone);
  }
  for (const zone of ['CST', 'EST', 'Etc/GMT+2', 'UTC+3', '+03:00', '', ' Europe/Riga', 'local', 7]) {
    expect(paths({ ...daily, zone })).toEqual(['zone']);
  }
});

test('slugs that would be read as something else in a ping URL are refused', () => {
  for (const slug of ['backup', 'a', 'x'.repeat(100), '2026-backup', 'start-up', '_', '-1']) {
    expect(slugFlaw(slug)).toBeNull();
  }
  const wrongSlugs = ['', 'x'.repeat(101), 'Backup', 'a b', 'ä', 'a/b', 'a\0', 'start', 'fail', 'log', '0', '255'];
  for (const slug of [...wrongSlugs, '4b7a1d2e-8c3f-4a5b-9d6e-0f1a2b3c4d5e']) expect(slugFlaw(slug)).not.toBeNull();
});
