import { describe, expect, test } from 'vitest';
import {
  describeSchedules,
  parseSchedules,
  type ScheduleSpec,
  scheduleWarnings,
  timetable,
} from '../../src/core/schedule.ts';
import { formatInstant, type Instant } from '../../src/core/time.ts';
import type { Zone } from '../../src/core/zone.ts';
import { loadZones } from '../../src/zones.ts';

const zones = loadZones();
const zone = (name: string): Zone => {
  const found = zones.get(name);
  if (!found.ok) throw new Error(found.reason);
  return found.value;
};
const at = (text: string): Instant => Date.parse(text);
const errors = (input: unknown) => {
  const read = parseSchedules(input, zone('Europe/Berlin'));
  return read.ok ? 'accepted' : read.errors;
};

/** Processor time of this process: a busy machine must not fail a promise about work. */
function cpuMillis(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

describe('the schedules of a job', () => {
  test('are read into what is stored', () => {
    expect(
      parseSchedules([{ cron: ' 30 2 * * * ' }, { every: '2h', anchor: '2026-01-01T00:00:00Z' }], zone('UTC')),
    ).toEqual({
      ok: true,
      value: [{ cron: '30 2 * * *' }, { every: 7200, anchor: at('2026-01-01T00:00:00Z') }],
    });
    expect(parseSchedules([{ heartbeat: 'P1D' }], zone('UTC'))).toEqual({ ok: true, value: [{ heartbeat: 86_400 }] });
  });

  test.each([
    [undefined, [{ path: 'schedules', message: expect.stringMatching(/must be a list/) }]],
    ['0 0 * * *', [{ path: 'schedules', message: expect.stringMatching(/must be a list/) }]],
    [{ cron: '0 0 * * *' }, [{ path: 'schedules', message: expect.stringMatching(/must be a list/) }]],
    [[], [{ path: 'schedules', message: expect.stringMatching(/at least one/) }]],
    [Array(21).fill({ cron: '0 0 * * *' }), [{ path: 'schedules', message: expect.stringMatching(/at most 20/) }]],
    [[{}], [{ path: 'schedules[0]', message: expect.stringMatching(/exactly one of cron, every and heartbeat/) }]],
    [[null], [{ path: 'schedules[0]', message: expect.stringMatching(/must be an object/) }]],
    [[['cron']], [{ path: 'schedules[0]', message: expect.stringMatching(/must be an object/) }]],
    [[{ cron: '0 0 * * *', every: '1h' }], [{ path: 'schedules[0]', message: expect.stringMatching(/exactly one/) }]],
    [
      [{ cron: '0 0 * * *', zone: 'UTC' }],
      [{ path: 'schedules[0].zone', message: expect.stringMatching(/unknown field/) }],
    ],
    [
      [{ heartbeat: '1d', anchor: '2026-01-01T00:00:00Z' }],
      [{ path: 'schedules[0].anchor', message: expect.stringMatching(/unknown field/) }],
    ],
    [[{ heartbeat: '0s' }], [{ path: 'schedules[0].heartbeat', message: 'must be 1s to 366d' }]],
    [[{ heartbeat: 'P1Y' }], [{ path: 'schedules[0].heartbeat', message: expect.stringMatching(/years and months/) }]],
    [[{ heartbeat: '1d' }, { cron: '0 0 * * *' }], [{ path: 'schedules', message: expect.stringMatching(/alone/) }]],
    [
      [{ cron: 'x' }, { cron: '0 0 * * *' }, { every: '-1s' }],
      [
        { path: 'schedules[0].cron', message: expect.any(String) },
        { path: 'schedules[2].every', message: expect.any(String) },
      ],
    ],
  ])('%j are refused, all problems at once, each with its path', (input, expected) => {
    expect(errors(input)).toEqual(expected);
  });

  test('with a name from the prototype are refused, not a crash', () => {
    expect(errors([JSON.parse('{"constructor": 1}')])).toEqual([{ path: 'schedules[0]', message: expect.any(String) }]);
    expect(errors([JSON.parse('{"cron": "0 0 * * *", "__proto__": 1}')])).toEqual([
      { path: 'schedules[0].__proto__', message: expect.stringMatching(/unknown field/) },
    ]);
  });
});

describe('a union of schedules', () => {
  test('is ascending, and an instant due in two of them is one occurrence', () => {
    const specs: ScheduleSpec[] = [{ cron: '0 */6 * * *' }, { every: 14_400, anchor: 0 }, { cron: '0 5 * * *' }];
    const dues = [...timetable(specs, zone('UTC')).dueIn(at('2026-01-01T00:00:00Z'), at('2026-01-01T12:00:00Z'))];
    expect(dues.map((due) => formatInstant(due.at).slice(11, 16))).toEqual([
      '04:00',
      '05:00',
      '06:00',
      '08:00',
      '12:00',
    ]);
    expect(dues.every((due) => due.standsFor === 1)).toBe(true);
  });

  test('in a gap stands for each distinct local time once', () => {
    const jump = at('2026-03-29T01:00:00Z');
    const standsFor = (...specs: ScheduleSpec[]) => timetable(specs, zone('Europe/Berlin')).next(jump - 1);
    expect(standsFor({ cron: '30 2 * * *' })).toEqual({ at: jump, standsFor: 1 });
    expect(standsFor({ cron: '30 2 * * *' }, { cron: '30 2 * * 0' })).toEqual({ at: jump, standsFor: 1 });
    expect(standsFor({ cron: '30 2 * * *' }, { cron: '15 2 * * *' })).toEqual({ at: jump, standsFor: 2 });
    expect(standsFor({ cron: '30 2 * * *' }, { cron: '0 * * * *' })).toEqual({ at: jump, standsFor: 2 });
    expect(standsFor({ cron: '0 3 * * *' }, { every: 3600, anchor: 0 })).toEqual({ at: jump, standsFor: 1 });
    expect(standsFor({ cron: '30 2 * * *' }, { cron: '0 9 * * *' })).toEqual({ at: jump, standsFor: 1 });
  });

  test('answers right when two walks over it are interleaved', () => {
    const table = timetable([{ cron: '0 * * * *' }, { every: 2700, anchor: 0 }], zone('UTC'));
    const expected = [...table.dueIn(0, 86_400_000)];
    const [early, late] = [
      table.dueIn(0, 86_400_000)[Symbol.iterator](),
      table.dueIn(43_200_000, 86_400_000)[Symbol.iterator](),
    ];
    const walked = [early.next(), late.next(), early.next(), late.next(), early.next()].map((step) => step.value?.at);
    const after = expected.filter((due) => due.at > 43_200_000);
    expect(walked).toEqual([expected[0]?.at, after[0]?.at, expected[1]?.at, after[1]?.at, expected[2]?.at]);
  });
});

describe('a timetable', () => {
  test('finds occurrences as they are taken: a window of 8000 years costs nothing until then', () => {
    const started = cpuMillis();
    const [first] = timetable([{ cron: '* * * * *' }], zone('Europe/Berlin')).dueIn(0, at('9999-01-01T00:00:00Z'));
    expect(first?.at).toBe(60_000);
    expect(cpuMillis() - started).toBeLessThan(20);
  });

  test('of an empty or backward window is empty', () => {
    const table = timetable([{ cron: '* * * * *' }], zone('UTC'));
    expect([...table.dueIn(60_000, 60_000)]).toEqual([]);
    expect([...table.dueIn(120_000, 60_000)]).toEqual([]);
  });

  test('of a stored schedule that makes no sense throws, and says which', () => {
    const broken = (spec: unknown) => () => timetable([spec as ScheduleSpec], zone('UTC'));
    expect(broken({ cron: '0 0 31 2 *' })).toThrow(/not a cron schedule: .*31 2.*matches no day/);
    expect(broken({ cron: 5 })).toThrow(/not a cron schedule: {"cron":5}: 5 fields expected/);
    expect(broken({ heartbeat: 60 })).toThrow(/heartbeat has no timetable/);
    expect(broken({ lunar: true })).toThrow(/not a schedule/);
    expect(() => timetable([], zone('UTC'))).toThrow(/at least one/);
  });
});

describe('a schedule in words', () => {
  test('is short, and names the zone where it matters', () => {
    expect(describeSchedules([{ cron: '30 2 * * *' }], zone('Europe/Berlin'))).toBe('30 2 * * * (Europe/Berlin)');
    expect(describeSchedules([{ every: 7200, anchor: 0 }], zone('Europe/Berlin'))).toBe('every 2h');
    expect(describeSchedules([{ heartbeat: 86_400 }], zone('UTC'))).toBe('heartbeat 1d');
    expect(describeSchedules([{ cron: '0 1 * * *' }, { every: 90, anchor: 1000 }], zone('UTC'))).toBe(
      '0 1 * * * and every 90s from 1970-01-01T00:00:01Z (UTC)',
    );
  });
});

describe('a warning', () => {
  const NOW = at('2026-01-15T00:00:00Z');
  const warnings = (cron: string, name = 'UTC') => scheduleWarnings([{ cron }], zone(name), NOW).join('\n');

  test.each([
    ['0 0 1-7 * 1', /either of them is due/],
    ['0 0 */2 * 1', /must match both/],
    ['1-7 * * * *', /^$/],
    ['* 9 * * *', /60 runs in each hour of "9"/],
    ['* * * * *', /^$/],
    ['*/45 * * * *', /starts again at each new hour/],
    ['0-59/45 * * * *', /starts again at each new hour/],
    ['0-40/45 * * * *', /longer than the range/],
    ['0 8-18/3 * * *', /^$/],
    ['0 */5 * * *', /starts again at each new day/],
    ['0 0 */2 * *', /starts again at each new month/],
    ['0 0 1 */5 *', /starts again at each new year/],
    ['0 0 * * */2', /starts again at each new week/],
    ['*/15 * * * *', /^$/],
    ['0 0 L * *', /Debian cron does not know L/],
    ['0 0 * * 7L', /Debian cron does not know L/],
    ['0 0 LW JUL *', /"LW": Debian/],
    ['0 0 1 JUL,APR *', /^$/],
    ['0 0 * * MON#2', /Debian cron reads # differently/],
    ['5/15 * * * *', /read as 5-59\/15: Debian cron refuses/],
    ['1/120 * * * *', /Debian cron refuses/],
    ['*/61 * * * *', /longer than the range/],
    ['0 0 1-31/40 * *', /longer than the range/],
    ['0 0 29 2 *', /2028-02-29T00:00Z, in about 2 years/],
    ['30 2 * * *', /^$/],
  ])('on "%s"', (cron, expected) => {
    expect(warnings(cron)).toMatch(expected);
  });

  test('spells out the next clock change that touches the schedule', () => {
    expect(warnings('30 2 * * *', 'Europe/Berlin')).toMatch(
      /^on 2026-03-29 the clocks of Europe\/Berlin go forward from 02:00 to 03:00: 02:30 does not exist that day, and is due at 2026-03-29T03:00\+02:00\n.*Kubernetes, systemd, Quartz/,
    );
    expect(warnings('0,30 2 * * *', 'Europe/Berlin')).toMatch(
      /02:00 and 02:30 do not exist that day, and are one occurrence, due at 2026-03-29T03:00\+02:00/,
    );
    expect(warnings('*/10 2 * * *', 'Europe/Berlin')).toMatch(
      /02:00, 02:10, 02:20 and 3 more do not exist that day, and nothing is due instead/,
    );
    expect(warnings('30 2 * 10 *', 'Europe/Berlin')).toMatch(
      /on 2026-10-25 the clocks of Europe\/Berlin go back from 03:00 to 02:00: 02:30 happens twice, and only the first pass is due/,
    );
    expect(warnings('*/30 2 * 10 *', 'Europe/Berlin')).toMatch(/02:00 and 02:30 happen twice, and both passes are due/);
  });

  test('is silent when no clock change touches the schedule', () => {
    expect(warnings('30 12 * * *', 'Europe/Berlin')).toBe('');
    expect(warnings('30 2 * * 1-5', 'Europe/Berlin')).toBe('');
    expect(warnings('0 * * * *', 'Europe/Berlin')).toBe('');
    expect(warnings('0 * * * *', 'Australia/Lord_Howe')).toMatch(/02:00 does not exist that day/);
  });

  test('on a whole-day interval only in a zone whose clocks change (SCH-070)', () => {
    const day: ScheduleSpec[] = [{ every: 86_400, anchor: 0 }];
    expect(scheduleWarnings(day, zone('America/New_York'), NOW)).toEqual([
      expect.stringMatching(/use a cron schedule/),
    ]);
    expect(scheduleWarnings(day, zone('UTC'), NOW)).toEqual([]);
    expect(scheduleWarnings([{ every: 3600, anchor: 0 }], zone('America/New_York'), NOW)).toEqual([]);
    expect(scheduleWarnings([{ heartbeat: 86_400 }], zone('America/New_York'), NOW)).toEqual([]);
  });
});
