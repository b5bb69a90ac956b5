import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { snoozeUntil, tomorrowAtNine } from '../../../src/web/pages/incidents-snooze.ts';
import { loadZones } from '../../../src/zones.ts';
import { startSite, type TestSite } from './site.ts';

const PAGE = '/projects/default/incidents';
let t: TestSite;
let nightly: number;
beforeAll(async () => {
  t = await startSite('2026-03-02T00:30:00Z');
  await t.call('PUT', '/channels/ops', { kind: 'slack', url: 'https://hooks.slack.com/services/T000/B000/XXXX' });
  const berlin = { zone: 'Europe/Berlin', schedules: [{ cron: '0 2 * * *' }] };
  await t.call('PUT', '/jobs/nightly', { ...berlin, missed_runs: 'catch_up', name: 'Nightly <i>' });
  await t.call('PUT', '/jobs/patient', {
    ...berlin,
    missed_runs: 'skip',
    alert_after: { missing: { count: 3, of: 3 } },
  });
  await t.call('PUT', '/jobs/mended', { ...berlin, missed_runs: 'skip' });
  await t.at('2026-03-02T01:30:00Z');
  await t.tick();
  await t.ping('mended', 'success');
  const { incidents } = (await t.call('GET', '/incidents?job=nightly')).json;
  nightly = incidents[0].id;
});
afterAll(() => t.drop());

const text = (html: string): string => html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
const names = (html: string): readonly string[] =>
  [...html.matchAll(/<strong>([^<]+)<\/strong>/g)].map(([, name]) => name ?? '');

describe('the list of incidents', () => {
  test('has the open ones first, and is filtered by its address', async () => {
    const all = (await t.open(PAGE)).text;
    expect(names(all).at(-1)).toBe('mended');
    expect([...names(all)].sort()).toEqual(['Nightly &lt;i&gt;', 'mended', 'patient']);
    expect(names((await t.open(`${PAGE}?state=resolved`)).text)).toEqual(['mended']);
    expect(names((await t.open(`${PAGE}?job=patient&kind=missing`)).text)).toEqual(['patient']);
    expect(names((await t.open(`${PAGE}?kind=failed`)).text)).toEqual([]);
    // Times are in the zone of the job, with the offset.
    expect(text(all)).toContain('since 2026-03-02 02:05+01:00');
  });

  test('says so where there is nothing', async () => {
    expect((await t.open(`${PAGE}?state=resolved&job=nightly`)).text).toContain('No incident matches.');
  });
});

describe('one incident', () => {
  test('says what it is about and what was told to whom', async () => {
    const { status, text: html } = await t.open(`${PAGE}/${nightly}`);
    expect(status).toBe(200);
    expect(html).toContain('Nightly &lt;i&gt; did not run');
    const page = text(html);
    expect(page).toContain('Opened 2026-03-02 02:05+01:00 25 min ago');
    expect(html).toContain('/projects/default/jobs/nightly/occurrences/2026-03-02T02%3A00%2B01%3A00');
    expect(page).toMatch(/2026-03-02 02:00\+01:00 overdue not/);
    expect(page).toMatch(/ops the problem on its way/);
  });

  test('of which nobody was told says why', async () => {
    const { incidents } = (await t.call('GET', '/incidents?job=patient')).json;
    const page = text((await t.open(`${PAGE}/${incidents[0].id}`)).text);
    expect(page).toContain('Nobody has been told: too few occurrences so far');
  });

  test('shows what was withheld and why', async () => {
    await t.send(`${PAGE}/${nightly}/snooze`, { for: '4h' });
    // As the dispatcher leaves a row that a snooze holds back.
    await t.database.transaction(
      (tx) => tx.sql`
        update outbox set reason = 'snoozed by ada@example.org', not_before = '2026-03-02T05:30:00Z'
        where incident_id = ${nightly}`,
    );
    const page = text((await t.open(`${PAGE}/${nightly}`)).text);
    expect(page).toContain('withheld snoozed by ada@example.org not before 2026-03-02 06:30+01:00');
    expect(page).toContain('Snoozed until 2026-03-02 06:30+01:00');
    expect(page).toMatch(/02:30\+01:00 ada@example.org snoozed it until 2026-03-02 06:30\+01:00/);
  });

  test('is acknowledged and snoozed by editors, and only looked at by viewers', async () => {
    const acked = await t.send(`${PAGE}/${nightly}/ack`, {});
    expect(acked).toMatchObject({ status: 303, location: `${PAGE}/${nightly}` });
    const tomorrow = await t.send(`${PAGE}/${nightly}/snooze`, { for: 'tomorrow', from: 'incidents' });
    expect(tomorrow.location).toBe(PAGE);
    const read = async () => (await t.call('GET', `/incidents/${nightly}`)).json;
    expect(await read()).toMatchObject({ acked_by: 'ada@example.org', snoozed_until: '2026-03-03T08:00:00Z' });
    await t.send(`${PAGE}/${nightly}/snooze`, { for: 'custom', until: '2026-03-02T18:15' });
    expect((await read()).snoozed_until).toBe('2026-03-02T17:15:00Z');
    await t.send(`${PAGE}/${nightly}/snooze`, { for: ['1h', 'end'] });
    expect((await read()).snoozed_until).toBeNull();
    t.as('viewer');
    expect((await t.open(`${PAGE}/${nightly}`)).text).not.toContain('method="post"');
    expect((await t.send(`${PAGE}/${nightly}/ack`, {})).status).toBe(403);
    t.as('owner');
  });

  test('keeps a snooze that was refused as it was typed', async () => {
    const past = await t.send(`${PAGE}/${nightly}/snooze`, { for: 'custom', until: '2026-03-01T18:15' });
    expect(past.status).toBe(400);
    expect(past.text).toContain('value="2026-03-01T18:15"');
    expect(past.text).toMatch(/id="snooze-wrong">must lie in the future/);
    const empty = await t.send(`${PAGE}/${nightly}/snooze`, { for: 'custom', until: '' });
    expect(empty.text).toContain('say until when');
    expect((await t.send(`${PAGE}/${nightly}/snooze`, {})).status).toBe(400);
  });

  test('of another project, or none, is not there', async () => {
    for (const id of ['999999', 'x', '99999999999999999999']) {
      expect((await t.open(`${PAGE}/${id}`)).status).toBe(404);
      expect((await t.send(`${PAGE}/${id}/ack`, {})).status).toBe(404);
    }
  });
});

test('tomorrow at nine is by the calendar of the job, also across a clock change', () => {
  const zone = loadZones().get('Europe/Berlin');
  if (!zone.ok) throw new Error(zone.reason);
  const at = (text: string) => new Date(tomorrowAtNine(zone.value, Date.parse(text))).toISOString();
  expect(at('2026-03-28T22:30:00Z')).toBe('2026-03-29T07:00:00.000Z');
  // Half past midnight in Berlin: tomorrow is the day after.
  expect(at('2026-03-28T23:30:00Z')).toBe('2026-03-30T07:00:00.000Z');
  expect(snoozeUntil({ wanted: 'soon', until: '' }, zone.value, 0).ok).toBe(false);
});
