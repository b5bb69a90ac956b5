import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

/** Runs in a process of its own, because the zone of the host is fixed when Intl is first used. */
const SCRIPT = `
const { loadZones } = await import('./src/zones.ts');
const { timetable, scheduleWarnings, parseSchedules } = await import('./src/core/schedule.ts');
const { formatKey, parseKey, keyCandidates } = await import('./src/core/key.ts');
const { formatInstant, parseInstant } = await import('./src/core/time.ts');
const { LuxonTableZone } = await import('./src/core/zone.ts');
const { DateTime } = await import('luxon');
const zones = loadZones({ directory: process.argv[1] || undefined });
const zone = (name) => zones.get(name).value;
const due = (cron, name, after, until) =>
  [...timetable([{ cron }], zone(name)).dueIn(Date.parse(after), Date.parse(until))].map((one) => formatKey(one.at, zone(name)));
console.log(JSON.stringify({
  host: new Date(Date.UTC(2026, 6, 1)).getTimezoneOffset(),
  utc: due('30 1 * * *', 'UTC', '2022-10-30T00:00:00Z', '2022-10-30T23:00:00Z'),
  gap: due('30 2 * * *', 'America/New_York', '2026-03-08T00:00:00Z', '2026-03-09T12:00:00Z'),
  both: due('*/30 1 * * *', 'America/New_York', '2026-11-01T04:00:00Z', '2026-11-01T12:00:00Z'),
  lordHowe: due('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T00:00:00Z', '2026-04-05T20:00:00Z'),
  instant: formatInstant(parseInstant('2026-03-29T01:30:00Z').value),
  key: keyCandidates(parseKey('2026-03-08 02:30').value, zone('America/New_York')),
  anchor: parseSchedules([{ every: '1d', anchor: '2026-03-29T01:30:00Z' }], zone('UTC')),
  warned: scheduleWarnings([{ cron: '30 2 * * *' }], zone('Europe/Berlin'), Date.UTC(2026, 0, 1)).length,
  shown: DateTime.fromMillis(Date.UTC(2026, 2, 29, 1, 30), { zone: new LuxonTableZone(zone('Europe/London')) }).toISO(),
}));
`;

async function runUnder(hostZone: string, directory: string): Promise<Record<string, unknown>> {
  const args = ['--import', 'tsx', '--input-type=module', '-e', SCRIPT, directory];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, TZ: hostZone },
    timeout: 25_000,
  });
  return JSON.parse(stdout);
}

test.each([
  ['UTC', 0, ''],
  ['Europe/London', -60, ''],
  ['America/New_York', 240, '/nonexistent'],
  ['Australia/Lord_Howe', -630, '/nonexistent'],
])('a host in %s changes nothing (SCH-035, STO-007)', async (hostZone, minutesWest, directory) => {
  expect(await runUnder(hostZone, directory)).toEqual({
    host: minutesWest === 0 ? expect.closeTo(0) : minutesWest,
    utc: ['2022-10-30T01:30Z'],
    gap: ['2026-03-08T03:00-04:00', '2026-03-09T02:30-04:00'],
    both: ['2026-11-01T01:00-04:00', '2026-11-01T01:30-04:00', '2026-11-01T01:00-05:00', '2026-11-01T01:30-05:00'],
    lordHowe: ['2026-04-05T01:45+11:00', '2026-04-06T01:45+10:30'],
    instant: '2026-03-29T01:30:00Z',
    key: { instants: [Date.parse('2026-03-08T07:00:00Z')] },
    anchor: { ok: true, value: [{ every: 86_400, anchor: Date.parse('2026-03-29T01:30:00Z') }] },
    warned: 2,
    shown: '2026-03-29T02:30:00.000+01:00',
  });
});
