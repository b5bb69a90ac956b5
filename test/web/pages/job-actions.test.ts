import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startSite, type TestSite } from './site.ts';

let site: TestSite;
beforeAll(async () => {
  site = await startSite('2026-03-01T12:00:00Z');
});
beforeEach(async () => {
  await site.at('2026-03-01T12:00:00Z');
  await site.call('DELETE', '/jobs/bills');
  await site.call('PUT', '/jobs/bills', {
    zone: 'UTC',
    schedules: [{ cron: '0 2 * * *' }],
    missed_runs: 'catch_up',
    max_catch_up: 2,
  });
});
afterAll(() => site.drop());

const JOB = '/projects/default/jobs/bills';
const state = async (key: string): Promise<readonly unknown[]> => {
  const { json } = await site.call('GET', `/jobs/bills/occurrences/${key}`);
  return [json.state, json.reason, json.note];
};

/** Three nights without a run: more than may be caught up without a word. */
async function threeNights(): Promise<void> {
  await site.at('2026-03-04T12:00:00Z');
  await site.tick();
}

test('pause and resume say what they mean, and the page what it is', async () => {
  const paused = await site.send(`${JOB}/pause`, {});
  expect([paused.status, paused.location]).toEqual([303, JOB]);
  const cookie = paused.headers.get('set-cookie')?.split(';')[0] ?? '';
  const { text } = await site.open(JOB, { Cookie: cookie });
  expect(text).toContain('Paused: what is due until it is resumed is skipped');
  expect(text).toContain('Paused since');
  expect(text).toContain('nothing while it is paused');
  await site.at('2026-03-03T12:00:00Z');
  // What it has skipped so far has no rows yet, and is in the year all the same.
  expect((await site.open(JOB)).text).toContain('2026-03-02: 1 skipped');
  expect((await site.send(`${JOB}/resume`, {})).status).toBe(303);
  expect((await site.open(JOB)).text).not.toContain('Paused since');
  const { audit } = await auditOf('job.pause');
  expect(audit).toBe('ada@example.org');
});

async function auditOf(action: string): Promise<{ audit: string | undefined }> {
  const rows = await site.database.transaction(
    (tx) => tx.sql<{ actor: string }[]>`select actor from audit where action = ${action} order by id desc limit 1`,
  );
  return { audit: rows[0]?.actor };
}

test('a job is deleted only from the page that says what is lost', async () => {
  expect((await site.open(JOB)).text).toContain(`href="${JOB}/delete"`);
  const page = await site.open(`${JOB}/delete`);
  expect(page.text).toContain('with all its occurrences');
  expect((await site.call('GET', '/jobs/bills')).status).toBe(200);
  const gone = await site.send(`${JOB}/delete`, {});
  expect([gone.status, gone.location]).toEqual([303, '/projects/default']);
  expect((await site.call('GET', '/jobs/bills')).status).toBe(404);
});

test('a backlog waits for a person: run hands all of it out, skip gives it up', async () => {
  await threeNights();
  const { text } = await site.open(JOB);
  expect(text).toContain('nothing is handed out until you decide');
  expect(text).toContain('Run all');
  expect((await site.send(`${JOB}/backlog`, { decision: 'run' })).status).toBe(303);
  expect((await site.open(JOB)).text).not.toContain('until you decide');
  expect((await site.send(`${JOB}/backlog`, { decision: 'skip' })).location).toBe(JOB);
  expect(await state('2026-03-03T02:00Z')).toEqual(['skipped', 'operator', null]);
  expect((await site.open(JOB)).text).not.toContain('id="owed"');
  // Who said it is known of each.
  const one = await site.open(`${JOB}/occurrences/2026-03-03T02:00Z`);
  expect(one.text).toContain('settled by hand by ada@example.org');
  expect((await site.send(`${JOB}/backlog`, { decision: 'perhaps' })).status).toBe(409);
});

test('what is owed is marked as done or skipped from the list, and the person is in the audit', async () => {
  await threeNights();
  const done = await site.send(`${JOB}/occurrences/2026-03-02T02:00Z/settle`, { state: 'on_time', back: 'job' });
  expect([done.status, done.location]).toEqual([303, JOB]);
  expect(await state('2026-03-02T02:00Z')).toEqual(['on_time', 'operator', '']);
  await site.send(`${JOB}/occurrences/2026-03-03T02:00Z/settle`, { state: 'skipped', back: 'job' });
  expect(await state('2026-03-03T02:00Z')).toEqual(['skipped', 'operator', '']);
  expect((await auditOf('occurrence.settle')).audit).toBe('ada@example.org');
});

test('an occurrence is settled with a note, which its page shows', async () => {
  await threeNights();
  const path = `${JOB}/occurrences/2026-03-02T02:00Z`;
  const answer = await site.send(`${path}/settle`, { state: 'skipped', note: 'billed <by hand>' });
  expect([answer.status, answer.location]).toEqual([303, path]);
  expect((await site.open(path)).text).toContain('settled by hand by ada@example.org: billed &lt;by hand&gt;');
});

test('a decision that is refused keeps what was typed, and says what is missing', async () => {
  const path = `${JOB}/occurrences/2026-03-02T02:00Z`;
  const note = 'x'.repeat(501);
  const { status, text } = await site.send(`${path}/settle`, { note });
  expect(status).toBe(400);
  expect(text).toContain('Say which of the two it is.');
  expect(text).toContain(`value="${note}"`);
  expect(text).toContain('aria-invalid="true"');
  expect((await site.send(`${JOB}/occurrences/2026-03-02T02:01Z/settle`, { state: 'skipped' })).status).toBe(404);
});

test('an incident is acknowledged and snoozed from the job’s page', async () => {
  await threeNights();
  const { json } = await site.call('GET', '/incidents?job=bills&state=open');
  const id = json.incidents.find(({ kind }: { kind: string }) => kind === 'missing').id;
  expect((await site.send(`${JOB}/incidents/${id}/ack`, {})).location).toBe(JOB);
  expect((await site.send(`${JOB}/incidents/${id}/snooze`, { until: '4h' })).location).toBe(JOB);
  const { text } = await site.open(JOB);
  expect(text).toContain('Acknowledged by ada@example.org');
  expect(text).toContain('Snoozed by ada@example.org until');
  expect(text).toContain('2026-03-04 16:00 UTC');
  expect((await site.send(`${JOB}/incidents/${id}/snooze`, { until: 'soon' })).status).toBe(409);
  expect((await site.send(`${JOB}/incidents/999999/ack`, {})).status).toBe(404);
});

test('a form from another site changes nothing', async () => {
  const { status } = await site.send(`${JOB}/delete`, {}, { Origin: 'https://evil.example' });
  expect(status).toBe(403);
  expect((await site.call('GET', '/jobs/bills')).status).toBe(200);
});

test('under coalesce and skip the page says what the policy makes of what was missed', async () => {
  await site.call('PUT', '/jobs/bills', { zone: 'UTC', schedules: [{ cron: '0 2 * * *' }], missed_runs: 'coalesce' });
  await threeNights();
  const coalesce = await site.open(JOB);
  expect(coalesce.text).toContain('One good run of the newest covers all that were missed before it');
  expect(coalesce.text).not.toContain('Skip all');
  await site.call('PUT', '/jobs/bills', { zone: 'UTC', schedules: [{ cron: '0 2 * * *' }], missed_runs: 'skip' });
  expect((await site.open(JOB)).text).toContain('never made up for');
});
