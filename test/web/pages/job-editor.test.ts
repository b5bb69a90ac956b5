import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ScheduleSpec } from '../../../src/core/schedule.ts';
import { clockChangeSentences, nextClockChange } from '../../../src/web/pages/job-editor/clock-change.ts';
import { bodyOf, type Draft, draftOf, slugFrom } from '../../../src/web/pages/job-editor/draft.ts';
import { loadZones } from '../../../src/zones.ts';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;
beforeAll(async () => {
  site = await startSite('2026-10-20T10:00:00Z');
});
afterAll(() => site.drop());

const NEW = '/projects/default/jobs/+new';
const NIGHTLY = {
  name: 'Nightly backup',
  kind: 'times',
  lines: '30 2 * * *',
  zone: 'Europe/Berlin',
  missed_runs: 'coalesce',
  channels_mode: 'all',
};
/** What stands in a field, as HTML. */
const fieldOf = (text: string, name: string): string =>
  new RegExp(`<(?:input|textarea)[^>]*name="${name}"[^>]*>`).exec(text)?.[0] ?? '';
const errorOf = (text: string, name: string): string | undefined =>
  new RegExp(`id="f-${name}-wrong">([^<]*)<`).exec(text)?.[1];
const unescaped = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

describe('a new job', () => {
  test('is made, with a slug made of its name, and its page is shown', async () => {
    const made = await site.send(NEW, { ...NIGHTLY, name: 'Café – Nightly!', tags: 'db, critical', grace: '45m' });
    expect([made.status, made.location]).toEqual([303, '/projects/default/jobs/cafe-nightly']);
    const { json } = await site.call('GET', '/jobs/cafe-nightly');
    expect(json).toMatchObject({
      name: 'Café – Nightly!',
      tags: ['db', 'critical'],
      zone: 'Europe/Berlin',
      schedules: [{ cron: '30 2 * * *' }],
      missed_runs: 'coalesce',
      grace: '45m',
      channels: null,
    });
  });

  test('takes every field that the API takes', async () => {
    await site.send(NEW, NIGHTLY);
    await site.call('PUT', '/channels/ops', { kind: 'slack', url: 'https://hooks.slack.com/services/T000/B000/XXXX' });
    const sent = {
      ...NIGHTLY,
      slug: 'whole',
      description: 'first\r\nsecond',
      lines: '30 2 * * *\r\n\r\nevery 2h from 2026-01-01T00:30:00Z',
      missed_runs: 'catch_up',
      missed_runs_reason: 'Each day is billed.',
      early: '1m',
      start_within: '2m',
      grace: '3m',
      useful_for: '4h',
      max_runtime: '5m',
      max_catch_up: '7',
      throttle: '8s',
      overlap: 'allow',
      duplicates: 'record',
      unscheduled: 'alert',
      'alert_after.missing.count': '2',
      'alert_after.missing.of': '3',
      channels_mode: 'these',
      channels: ['ops'],
      after: 'nightly-backup',
    };
    expect((await site.send(NEW, sent)).status).toBe(303);
    const { json } = await site.call('GET', '/jobs/whole');
    expect(json).toMatchObject({
      description: 'first\nsecond',
      schedules: [{ cron: '30 2 * * *' }, { every: '2h', anchor: '2026-01-01T00:30:00Z' }],
      missed_runs: 'catch_up',
      missed_runs_reason: 'Each day is billed.',
      early: '1m',
      start_within: '2m',
      grace: '3m',
      useful_for: '4h',
      max_runtime: '5m',
      max_catch_up: 7,
      throttle: '8s',
      overlap: 'allow',
      duplicates: 'record',
      unscheduled: 'alert',
      alert_after: { missing: { count: 2, of: 3 } },
      channels: ['ops'],
      after: ['nightly-backup'],
    });
  });

  test('a heartbeat needs no policy, an interval has its anchor', async () => {
    const heartbeat = { name: 'beat', kind: 'heartbeat', heartbeat: '6h', zone: 'UTC', lines: 'left over' };
    expect((await site.send(NEW, heartbeat)).status).toBe(303);
    expect((await site.call('GET', '/jobs/beat')).json.schedules).toEqual([{ heartbeat: '6h' }]);
    const interval = { ...NIGHTLY, name: 'sync', kind: 'interval', every: '90m', anchor: '2026-01-01T00:10:00Z' };
    expect((await site.send(NEW, interval)).status).toBe(303);
    expect((await site.call('GET', '/jobs/sync')).json.schedules).toEqual([
      { every: '90m', anchor: '2026-01-01T00:10:00Z' },
    ]);
  });

  test('nothing is assumed, errors are at their fields, and nothing typed is lost', async () => {
    const typed = {
      name: 'Wrong <one>',
      kind: 'times',
      lines: '30 2 * * *\nnonsense',
      grace: 'soon',
      max_catch_up: 'many',
      after: 'nobody',
      'alert_after.failed.count': '5',
      'alert_after.failed.of': '2',
    };
    const { status, text } = await site.send(NEW, typed);
    expect(status).toBe(400);
    expect(errorOf(text, 'zone')).toBe('Choose a time zone: none is assumed.');
    expect(text).toContain('id="policy-wrong">Choose one of the three: none is assumed.');
    expect(errorOf(text, 'lines')).toMatch(/^line 2: /);
    expect(errorOf(text, 'grace')).toContain('not a duration');
    expect(errorOf(text, 'max_catch_up')).toContain('a whole number');
    expect(errorOf(text, 'after')).toContain('nobody: no such job');
    expect(text).toMatch(/id="wrong-failed">[^<]*from 5 to 100/);
    expect(fieldOf(text, 'name')).toContain('value="Wrong &lt;one&gt;"');
    expect(text).toContain('30 2 * * *\nnonsense</textarea>');
    for (const [name, value] of [
      ['grace', 'soon'],
      ['after', 'nobody'],
      ['alert_after.failed.of', '2'],
    ] as const)
      expect(fieldOf(text, name)).toContain(`value="${value}"`);
    // What holds a value or an error is open.
    expect(text.match(/<details open/g)?.length).toBeGreaterThanOrEqual(3);
  });

  test('copies another job, all but its name', async () => {
    const { text } = await site.open(`${NEW}?from=whole`);
    expect(text).toContain('<h1>New job</h1>');
    for (const name of ['name', 'slug']) expect(fieldOf(text, name)).toContain('value=""');
    expect(text).toContain('30 2 * * *\nevery 2h from 2026-01-01T00:30:00Z</textarea>');
    for (const [name, value] of [
      ['zone', 'Europe/Berlin'],
      ['grace', '3m'],
      ['alert_after.missing.of', '3'],
    ] as const)
      expect(fieldOf(text, name)).toContain(`value="${value}"`);
    expect((await site.open('/projects/default/jobs/whole')).text).toContain(`href="${NEW}?from=whole"`);
    expect((await site.open(`${NEW}?from=nobody`)).status).toBe(404);
  });

  test('a slug that is taken is refused, and the job that has it stays as it is', async () => {
    await site.send(NEW, { ...NIGHTLY, slug: 'taken' });
    const again = await site.send(NEW, { ...NIGHTLY, slug: 'taken', lines: '0 5 * * *' });
    expect([again.status, errorOf(again.text, 'slug')]).toEqual([
      409,
      'taken is the slug of another job: choose one that is free',
    ]);
    expect((await site.call('GET', '/jobs/taken')).json.schedules).toEqual([{ cron: '30 2 * * *' }]);
    const reserved = await site.send(NEW, { ...NIGHTLY, slug: 'start' });
    expect([reserved.status, errorOf(reserved.text, 'slug')]).toEqual([400, expect.stringContaining('reserved')]);
  });

  test('whoever may only look gets no form', async () => {
    site.as('viewer');
    expect((await site.open(NEW)).status).toBe(403);
    expect((await site.send(NEW, NIGHTLY)).status).toBe(403);
    expect((await site.open('/projects/default/jobs/nightly-backup/edit')).status).toBe(403);
    site.as('owner');
  });
});

describe('the preview', () => {
  const PREVIEW = '/projects/default/jobs/preview';
  const live = { 'HX-Request': 'true', Cookie: 'zone=Asia%2FTokyo' };

  test('shows what is due in both zones with offsets, the words, the week, and the clock change of this schedule', async () => {
    const { status, text } = await site.send(PREVIEW, NIGHTLY, live);
    expect(status).toBe(200);
    expect(text).not.toContain('<html');
    expect(text).toContain('At 02:30');
    expect(text).toContain('7 times in the next seven days.');
    expect(text).toContain('2026-10-21 02:30+02:00');
    expect(text).toContain('2026-10-21 09:30+09:00');
    expect(text).toContain('On 25 October 2026 02:30 happens twice; this job is expected once, on the first.');
    expect(text.match(/<tr>/g)).toHaveLength(11);
    // The core's own sentence about the same change is not there besides.
    expect(text).not.toContain('the clocks of Europe/Berlin go back');
  });

  test('without JavaScript the button shows the whole form again, as it was typed', async () => {
    const { status, text } = await site.send(PREVIEW, { ...NIGHTLY, grace: 'soon', slug: 'mine' });
    expect(status).toBe(200);
    expect(text).toContain('<h1>New job</h1>');
    expect(fieldOf(text, 'grace')).toContain('value="soon"');
    expect(fieldOf(text, 'slug')).toContain('value="mine"');
    expect(text).toContain('2026-10-21 02:30+02:00');
  });

  test('a button fills in a zone, and only then', async () => {
    const { zone: _, ...without } = NIGHTLY;
    const first = await site.send(PREVIEW, without);
    expect(first.text).toContain('Choose a time zone, and the next occurrences are shown here.');
    const chosen = await site.send(PREVIEW, { ...without, zone: '', use_zone: 'Europe/Berlin' });
    expect(fieldOf(chosen.text, 'zone')).toContain('value="Europe/Berlin"');
  });

  test('the deadlines follow what is typed, as a drawing and as a list', async () => {
    const typed = { ...NIGHTLY, early: '10m', start_within: '15m', grace: '1h', useful_for: '3h', max_runtime: '2h' };
    const { text } = await site.send(PREVIEW, typed, live);
    const line = text.slice(text.indexOf('id="deadline-line"'));
    for (const at of ['02:20', '02:30', '02:45', '03:30', '04:30', '05:30'])
      expect(line).toContain(`2026-10-21 ${at}+02:00`);
    expect(line).toContain('<svg class="drawing time-line"');
    expect(line).toContain('useful until');
  });

  test('says what is wrong, and warns of what surprises', async () => {
    const wrong = await site.send(PREVIEW, { ...NIGHTLY, lines: '61 2 * * *' }, live);
    expect(wrong.text).toContain('class="wrong"');
    const both = await site.send(PREVIEW, { ...NIGHTLY, lines: '0 9 1 * 1' }, live);
    expect(unescaped(both.text)).toContain('Day of month "1" and day of week "1" are both set');
  });

  test('follows the errors that the page told of, and no others', async () => {
    const told = 'lines zone missed_runs grace alert_after.failed after';
    const wrong = { name: 'Told', kind: 'times', lines: '61 2 * * *', zone: '', grace: 'soon', early: 'soon', told };
    const place = (text: string, id: string) =>
      new RegExp(`<hx-partial hx-target="#${id}"[^>]*>([^<]*)</hx-partial>`).exec(text)?.[1]?.trim();
    const first = (await site.send(PREVIEW, { ...wrong, zone: 'UTC' }, live)).text;
    expect(place(first, 'f-lines-wrong')).toContain('61 is out of range');
    expect(place(first, 'f-zone-wrong')).toBe('');
    expect(place(first, 'policy-wrong')).toContain('none is assumed');
    expect(place(first, 'f-grace-wrong')).toContain('not a duration');
    expect(place(first, 'wrong-failed')).toBe('');
    // Not red so far, and a circle of jobs is found in saving only.
    expect([place(first, 'f-early-wrong'), place(first, 'f-after-wrong')]).toEqual([undefined, undefined]);
    const mended = { ...NIGHTLY, name: 'Told', told: 'lines zone missed_runs grace' };
    const last = (await site.send(PREVIEW, mended, live)).text;
    for (const id of ['f-lines-wrong', 'f-zone-wrong', 'policy-wrong', 'f-grace-wrong'])
      expect(place(last, id)).toBe('');
    expect(place(last, 'still-wrong')).toContain('it can be saved');
    expect((await site.send(PREVIEW, NIGHTLY, live)).text).not.toContain('-wrong');
    const page = (await site.send(NEW, wrong)).text;
    expect(page).toMatch(/name="told" value="[^"]*\bgrace\b/);
    for (const id of ['f-lines-wrong', 'f-zone-wrong', 'policy-wrong', 'f-grace-wrong', 'still-wrong'])
      expect(page.split(`id="${id}"`)).toHaveLength(2);
  });

  test('a button fills in a zone in place', async () => {
    const { text } = await site.send(PREVIEW, { ...NIGHTLY, zone: '', use_zone: 'UTC' }, live);
    expect(text).toContain('2026-10-21 02:30 UTC');
    expect(text).toMatch(/<hx-partial hx-target="#f-zone" hx-swap="outerHTML"><input id="f-zone"[^>]*value="UTC"/);
    expect((await site.open(NEW)).text).toMatch(/<button[^>]*name="use_zone"[^>]*hx-post="[^"]*\/jobs\/preview"/);
  });

  test('of an edit says what a change of the schedule does', async () => {
    await site.send(NEW, { ...NIGHTLY, name: 'Edited' });
    const same = await site.send(PREVIEW, { ...NIGHTLY, job: 'edited' }, live);
    expect(same.text).not.toContain('schedule_changed');
    const grace = await site.send(PREVIEW, { ...NIGHTLY, job: 'edited', grace: '1h' }, live);
    expect(grace.text).not.toContain('schedule_changed');
    for (const change of [{ lines: '0 3 * * *' }, { zone: 'UTC' }]) {
      const other = await site.send(PREVIEW, { ...NIGHTLY, job: 'edited', ...change }, live);
      expect(other.text).toContain('schedule_changed');
    }
  });
});

describe('an edit', () => {
  test('begins with what is stored, and saving that changes nothing', async () => {
    const stored = (await site.call('GET', '/jobs/whole')).json;
    expect(bodyOf(draftOf(stored))).toMatchObject({ schedules: stored.schedules, alert_after: stored.alert_after });
    const { text } = await site.open('/projects/default/jobs/whole/edit');
    expect(text).toContain('30 2 * * *\nevery 2h from 2026-01-01T00:30:00Z</textarea>');
    expect(text).not.toContain('name="slug"');
    const saved = await site.send('/projects/default/jobs/whole/edit', formOf(draftOf(stored)));
    expect(saved.status).toBe(303);
    expect((await site.call('GET', '/jobs/whole')).json).toEqual(stored);
  });

  test('is refused at its fields, and of a job that is not there', async () => {
    const path = '/projects/default/jobs/nightly-backup/edit';
    const { status, text } = await site.send(path, {
      ...NIGHTLY,
      grace: '2h',
      useful_for: '1h',
      channels_mode: 'these',
    });
    expect([status, text.includes('Choose at least one channel, or nobody.')]).toEqual([400, true]);
    expect(errorOf(text, 'useful_for')).toContain('must not be shorter than grace');
    expect((await site.open('/projects/default/jobs/nobody/edit')).status).toBe(404);
  });

  test('a replay tells what other settings would have told, beside what was told', async () => {
    await site.at('2026-11-01T00:00:00Z');
    await site.send(NEW, { ...NIGHTLY, name: 'Replayed', zone: 'UTC', lines: '0 2 * * *', grace: '30m' });
    for (const [day, minute] of [
      ['02', 10],
      ['03', 50],
      ['04', 12],
    ] as const) {
      await site.at(`2026-11-${day}T02:${minute}:00Z`);
      await site.tick();
      await site.ping('replayed', 'success');
    }
    await site.at('2026-11-04T12:00:00Z');
    await site.tick();
    const settings = { ...NIGHTLY, zone: 'UTC', lines: '0 2 * * *' };
    const path = '/projects/default/jobs/replayed/replay';
    const live = { 'HX-Request': 'true' };
    const unchanged = await site.send(path, { ...settings, grace: '30m' }, live);
    expect(unchanged.text).toContain('would have told you 2 times');
    expect(unchanged.text).toContain('It did tell you as often.');
    const stricter = await site.send(path, { ...settings, grace: '5m' }, live);
    expect(stricter.text).toContain('would have told you 3 times');
    expect(stricter.text).toContain('It did tell you 2 times.');
    expect(stricter.text).toMatch(/2026-11-04 02:05 UTC(?:(?!<tr>).)*no: this is new/);
    const patient = await site.send(path, { ...settings, grace: '3h' }, live);
    expect(patient.text).toContain('would have told you once');
    const whole = await site.send(path, { ...settings, grace: '5m' });
    expect(whole.text).toContain('<h1>Edit Replayed</h1>');
    expect(whole.text).toContain('would have told you 3 times');
    expect(fieldOf(whole.text, 'grace')).toContain('value="5m"');
    // Nothing was written.
    expect((await site.call('GET', '/jobs/replayed')).json.grace).toBe('30m');
    expect((await site.call('GET', '/incidents?job=replayed')).json.incidents).toHaveLength(2);
  });
});

/** A form as a browser would send it back. */
const formOf = (draft: Draft): Record<string, readonly string[]> => ({ ...draft });

test('a slug is made of a name', () => {
  expect(slugFrom('Ärger & Söhne: Nightly_run 2')).toBe('arger-sohne-nightly_run-2');
  expect(slugFrom('夜間')).toBe('');
  expect(slugFrom(`${'a'.repeat(99)} b`)).toBe('a'.repeat(99));
});

describe('the next clock change of a schedule', () => {
  const zones = loadZones();
  const at = (zoneName: string, now: string, ...schedules: ScheduleSpec[]): readonly string[] => {
    const zone = zones.get(zoneName);
    if (!zone.ok) throw new Error(zone.reason);
    return clockChangeSentences(nextClockChange(schedules, zone.value, Date.parse(now)), zone.value);
  };
  const cron = (expression: string): ScheduleSpec => ({ cron: expression });
  const SPRING = '2026-03-20T00:00:00Z';
  const AUTUMN = '2026-10-20T00:00:00Z';

  test.each([
    [
      SPRING,
      '30 2 * * *',
      'On 29 March 2026 02:30 does not exist; this job is due at 03:00+02:00, the moment the clocks change.',
    ],
    [
      SPRING,
      '0,30 2 * * *',
      'On 29 March 2026 02:00 and 02:30 do not exist; this job is due once for them, at 03:00+02:00, the moment the clocks change.',
    ],
    [
      SPRING,
      '0 2,3 * * *',
      'On 29 March 2026 02:00 does not exist; this job is due once for all that falls there, at 03:00+02:00, the moment the clocks change.',
    ],
    [SPRING, '*/30 2 * * *', 'On 29 March 2026 02:00 and 02:30 do not exist; nothing is due instead.'],
    [SPRING, '*/5 * * * *', 'The next clock change, on 29 March 2026, does not touch this schedule.'],
    [SPRING, '0 12 * * *', 'The next clock change, on 29 March 2026, does not touch this schedule.'],
    [AUTUMN, '30 2 * * *', 'On 25 October 2026 02:30 happens twice; this job is expected once, on the first.'],
    [
      AUTUMN,
      '0,30 2 * * *',
      'On 25 October 2026 02:00 and 02:30 happen twice; this job is expected once for each, on the first.',
    ],
    [
      AUTUMN,
      '*/30 2 * * *',
      'On 25 October 2026 02:00 and 02:30 happen twice; this job is expected both times, 1h apart.',
    ],
    [AUTUMN, '30 2 * * 1', 'The next clock change, on 25 October 2026, does not touch this schedule.'],
  ])('%s: %s', (now, expression, sentence) => {
    expect(at('Europe/Berlin', now, cron(expression))).toEqual([sentence]);
  });

  test('half an hour, days of elapsed time, and zones that never change', () => {
    expect(at('Australia/Lord_Howe', '2026-09-20T00:00:00Z', cron('15 2 * * *'))).toEqual([
      'On 4 October 2026 02:15 does not exist; this job is due at 02:30+11:00, the moment the clocks change.',
    ]);
    expect(at('Europe/Berlin', AUTUMN, { every: 86_400, anchor: Date.parse('2026-10-01T08:00:00Z') })).toEqual([
      'On 25 October 2026 the local time of this job moves from 10:00 to 09:00: every so many days is elapsed time, 24 h each.',
    ]);
    expect(at('Europe/Berlin', AUTUMN, { every: 7200, anchor: 0 })).toEqual([
      'The next clock change, on 25 October 2026, does not touch this schedule.',
    ]);
    expect(at('UTC', AUTUMN, cron('30 2 * * *'))).toEqual(['The clocks of UTC never change.']);
    expect(at('Europe/Berlin', AUTUMN, cron('30 2 * * *'), cron('*/30 2 * * *'))).toHaveLength(2);
  });
});
