import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ClockStory, startStory } from '../support/clock-story.ts';

let story: ClockStory;
beforeEach(async () => {
  story = await startStory('2026-03-02T12:00:30Z');
});
afterEach(() => story.stop());

const every10 = { schedules: [{ cron: '*/10 * * * *' }], grace: '2m' };

/** Messages with what they are about: `unknown` notices by the number of occurrences in them. */
const unknownIn = () =>
  story
    .messages()
    .flatMap((message) => message.events ?? [message])
    .filter((event: { notice?: { kind: string } }) => event.notice?.kind === 'unknown')
    .map((event: { occurrences: unknown[] }) => event.occurrences.length);

/** So many copies of one job, of one definition. */
async function copies(of: string, count: number): Promise<void> {
  await story.rows(`
    with made as (
      insert into jobs (project_id, uuid, slug, definition, created_at, settings_since)
      select j.project_id, gen_random_uuid(), j.slug || '-' || n, j.definition, j.created_at, j.settings_since
      from jobs j, generate_series(1, ${count}) n where j.slug = '${of}' returning id),
    versions as (
      insert into schedule_versions (job_id, number, zone, schedules, starts_after, tz_version)
      select made.id, v.number, v.zone, v.schedules, v.starts_after, v.tz_version
      from made, schedule_versions v join jobs j on j.id = v.job_id where j.slug = '${of}')
    insert into cursors (job_id, version, next_unrecorded, next_check_at)
    select made.id, c.version, c.next_unrecorded, c.next_check_at
    from made, cursors c join jobs j on j.id = c.job_id where j.slug = '${of}'`);
}

describe('Rollcall dead for 20 minutes', () => {
  test('with 500 jobs due inside: nobody is called missing, and what never came is unknown in one message', async () => {
    await story.put('job', { schedules: [{ cron: '5 12 * * *' }], grace: '2m' });
    await copies('job', 499);
    await story.live(60);
    story.dead(20 * 60);
    await story.look();
    expect(await story.windows()).toEqual(['2026-03-02T12:01:30 2026-03-02T12:21:30 blind silent']);
    await story.ping('job-1', 'success');
    await story.ping('job-2', 'success', { at: '2026-03-02T12:05:30Z' });
    await story.live(10 * 60 - 1);
    expect(await story.rows(`select 1 from occurrences where state = 'unknown'`)).toEqual([]);

    // The evaluator is interrupted half way: the notice must not leave with half of them.
    story.dead(1);
    await story.hear();
    const judging = story.replica.evaluator.tick();
    const half = async () => (await story.rows(`select 1 from occurrences where state = 'unknown'`)).length;
    for (let n = 0; n < 50; n = await half()) await new Promise((resolve) => setImmediate(resolve));
    story.dead(6);
    await story.hear();
    await story.send();
    expect(await half()).toBeLessThan(498);
    expect(unknownIn()).toEqual([]);
    await judging;
    await story.live(10);
    await story.send();

    expect(unknownIn()).toEqual([498]);
    expect(await story.incidents()).toEqual([]);
    expect(await story.states('job-1')).toEqual(['2026-03-02T12:05Z late']);
    expect(await story.states('job-2')).toEqual(['2026-03-02T12:05Z on_time']);
    // A spooled ping says afterwards what it was; nobody is told again.
    await story.ping('job-3', 'success', { at: '2026-03-02T12:06:00Z' });
    await story.ping('job-4', 'fail', { at: '2026-03-02T12:06:00Z' });
    expect(await story.states('job-3')).toEqual(['2026-03-02T12:05Z on_time']);
    expect(await story.states('job-4')).toEqual(['2026-03-02T12:05Z failed']);
    expect(await story.incidents()).toEqual(['job-4 failed open']);
    await story.live(10 * 60);
    await story.send();
    expect(unknownIn()).toEqual([498]);
  }, 120_000);

  test('a notice does not wait for ever for jobs that cannot be judged', async () => {
    await story.put('job', { schedules: [{ cron: '5 12 * * *' }], grace: '2m' });
    await story.put('stuck', { schedules: [{ cron: '5 12 * * *' }], grace: '2m' });
    await story.live(60);
    story.dead(20 * 60);
    await story.look();
    await story.database.transaction(
      async (tx) => {
        const hold = () =>
          tx.sql`select from cursors c join jobs j on j.id = c.job_id where j.slug = 'stuck' for update of c`;
        // Again and again: a transaction that does nothing for 10 s is ended.
        for (let minute = 0; minute < 11; minute += 1) {
          await hold();
          await story.live(60);
        }
        await story.send();
        expect(unknownIn()).toEqual([]);
        await hold();
        await story.live(2 * 60);
        await story.send();
        expect(unknownIn()).toEqual([1]);
      },
      { deadlineMs: 60_000 },
    );
  }, 60_000);
});

describe('the database away for 20 minutes', () => {
  test('is a silence like any other: pings are refused, and nothing is invented of the time', async () => {
    await story.put('job', { ...every10, missed_runs: 'coalesce' });
    await story.live(60);
    // Ingest cannot commit: there is no beat, whatever came was answered 503 and comes again.
    story.dead(20 * 60);
    await story.look();
    await story.ping('job', 'success');
    await story.live(9 * 60);
    // 12:20 was run late for all that was heard; it covers 12:10.
    expect(await story.states('job')).toEqual(['2026-03-02T12:10Z coalesced', '2026-03-02T12:20Z on_time']);
    await story.live(3 * 60);
    expect(await story.incidents()).toEqual(['job missing open']);
    expect(await story.notices('unknown')).toEqual([]);
  }, 60_000);
});

describe('a process that is stopped and continued', () => {
  test('the only one, for 40 s: nothing is missing, and its pings count as of their arrival', async () => {
    await story.put('job', { schedules: [{ cron: '1 12 * * *' }], grace: '10s' });
    await story.live(20);
    story.dead(40);
    // On SIGCONT evaluator and ingest race; the evaluator is first.
    await story.replica.evaluator.tick();
    expect(await story.incidents()).toEqual([]);
    await story.look();
    expect(await story.windows()).toEqual(['2026-03-02T12:00:50 2026-03-02T12:01:30 blind silent']);
    await story.ping('job', 'success');
    await story.live(11 * 60);
    expect(await story.states('job')).toEqual(['2026-03-02T12:01Z late']);
    expect(await story.incidents()).toEqual([]);
  });

  test('one of two: the other hears, and judges when the stopped one has been silent for 10 s', async () => {
    await story.put('job', { schedules: [{ cron: '1 12 * * *' }], grace: '10s' });
    const stopped = story.createReplica();
    await story.live(38);
    await stopped.ingest.flush();
    // At the deadline nobody knows yet what it holds.
    await story.live(3);
    expect(await story.incidents()).toEqual([]);
    await story.live(9);
    expect(await story.incidents()).toEqual(['job missing open']);
    await stopped.ingest.flush();
    expect(await story.windows()).toEqual([]);
  });

  test('one of two, whose whole machine slept: its clock stood still, but that of the database did not jump', async () => {
    let itsClock = 5000;
    const asleep = story.createReplica(() => itsClock);
    await asleep.ingest.flush();
    await story.live(90);
    itsClock += 500;
    await asleep.ingest.flush();
    expect(await story.windows()).toEqual([]);
    // With nobody else awake nothing was heard, and that is a window.
    story.dead(20);
    itsClock += 500;
    await asleep.ingest.flush();
    expect(await story.windows()).toEqual(['2026-03-02T12:02:00 2026-03-02T12:02:20 blind skipped']);
  });
});

describe('a clock that jumps eight seconds', () => {
  test('is blind for so long although there is a beat before and after', async () => {
    await story.put('job', { schedules: [{ cron: '1 12 * * *' }], grace: '3s' });
    await story.live(28);
    await story.jumpTo('2026-03-02T12:01:06Z');
    expect(await story.windows()).toEqual(['2026-03-02T12:00:58 2026-03-02T12:01:06 blind skipped']);
    await story.live(60);
    expect(await story.incidents()).toEqual([]);
  });

  test('seen by two replicas is one window and one notice, and so is what it made unknown', async () => {
    const second = story.createReplica();
    await story.put('job', { schedules: [{ cron: '1 12 * * *' }], grace: '3s' });
    await second.ingest.flush();
    await story.live(27);
    await second.ingest.flush();
    await story.live(1);
    story.clock.set('2026-03-02T12:01:06Z');
    story.dead(0.5);
    await Promise.all([story.look(), second.ingest.flush()]);
    await story.live(2);
    await second.ingest.flush();
    await story.live(11 * 60);
    expect(await story.windows()).toHaveLength(1);
    expect(await story.notices('operator')).toHaveLength(1);
    expect(await story.notices('unknown')).toHaveLength(1);
    expect(await story.states('job')).toEqual(['2026-03-02T12:01Z unknown']);
  });

  test('ahead is withdrawn when it is taken back before it settles: what was held is judged', async () => {
    await story.put('job', { schedules: [{ cron: '2 12 * * *' }], grace: '30s', early: '0s' });
    await story.live(20);
    await story.jumpTo('2026-03-02T12:20:00Z');
    await story.live(5);
    await story.jumpTo('2026-03-02T12:00:56Z');
    // What was heard in the five seconds cannot be trusted; the rest is as if nothing had been.
    expect((await story.windows())[0]).toBe('2026-03-02T12:00:50 2026-03-02T12:00:56 blind skipped');
    await story.live(2 * 60);
    expect(await story.incidents()).toEqual(['job missing open']);
  });
});
