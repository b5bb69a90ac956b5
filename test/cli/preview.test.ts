import { expect, test } from 'vitest';
import { type PreviewOptions, preview } from '../../src/cli/preview.ts';
import { loadZones } from '../../src/zones.ts';

const zones = loadZones();

function run(cron: string | undefined, options: PreviewOptions) {
  const printed = { out: '', err: '' };
  const exitCode = preview(cron, options, {
    zones,
    now: Date.parse('2026-01-01T00:00:00Z'),
    out: (text) => {
      printed.out += text;
    },
    err: (text) => {
      printed.err += text;
    },
  });
  return { exitCode, ...printed };
}

test('a preview says when a job is due, as key and in UTC, once in the night that has the hour twice', () => {
  const { exitCode, out } = run('30 2 * * *', {
    zone: 'Europe/Berlin',
    after: '2026-10-24T12:00:00Z',
    until: '2026-10-26T12:00:00Z',
  });
  expect(exitCode).toBe(0);
  expect(out).toContain('2026-10-25T02:30+02:00  2026-10-25T00:30:00Z\n2026-10-26T02:30+01:00  2026-10-26T01:30:00Z\n');
});

test('an interval runs from its anchor, and --limit ends the list', () => {
  const { out } = run(undefined, { zone: 'UTC', every: '2h', anchor: '2026-01-01T00:30:00Z', limit: '2', json: true });
  expect(JSON.parse(out)).toEqual({
    occurrences: [
      { key: '2026-01-01T00:30Z', scheduled_for: '2026-01-01T00:30:00Z' },
      { key: '2026-01-01T02:30Z', scheduled_for: '2026-01-01T02:30:00Z' },
    ],
    warnings: [],
  });
});

test('ten occurrences are shown unless more are asked for, beginning now', () => {
  const { out } = run('0 0 * * *', { zone: 'UTC' });
  const [list = ''] = out.split('\n\n');
  expect(list.split('\n')).toHaveLength(10);
  expect(out).toMatch(/^2026-01-02T00:00Z/);
});

test('at its end a heartbeat for cron itself is recommended, to people and only where cron runs the job', () => {
  const { out } = run('0 0 * * *', { zone: 'UTC', limit: '1' });
  expect(out).toMatch(/^\S+ +\S+\n\n(?:.+\n)*.*one heartbeat job for each host.*\n\*\/5 \* \* \* \* +curl (?:.+\n)+$/);
  expect(run(undefined, { zone: 'UTC', every: '2h' }).out).not.toContain('heartbeat');
  const json = JSON.parse(run('0 0 * * *', { zone: 'UTC', json: true }).out);
  expect([Object.keys(json), json.warnings]).toEqual([['occurrences', 'warnings'], []]);
});

test('what may surprise is said', () => {
  expect(run('* 9 * * *', { zone: 'UTC', limit: '1' }).out).toContain('warning: ');
});

test.each([
  [undefined, { zone: 'UTC' }, 'schedule: is required'],
  ['30 2 * * *', {}, 'zone: is required'],
  ['30 2 * * *', { zone: 'CST' }, 'zone: '],
  ['30 2 31 2 *', { zone: 'UTC' }, 'cron: '],
  ['every day', { zone: 'UTC' }, 'cron: '],
  [undefined, { zone: 'UTC', every: '1 month' }, 'every: '],
  ['30 2 * * *', { zone: 'UTC', anchor: '2026-01-01T00:00:00Z' }, 'anchor: belongs to --every'],
  ['30 2 * * *', { zone: 'UTC', after: 'yesterday' }, 'after: '],
  ['30 2 * * *', { zone: 'UTC', until: '2026-02-31T00:00:00Z' }, 'until: '],
  ['30 2 * * *', { zone: 'UTC', limit: '0' }, 'limit: '],
])('%s with %o is refused with a reason and exit code 2', (cron, options, reason) => {
  const { exitCode, out, err } = run(cron, options);
  expect([exitCode, out]).toEqual([2, '']);
  expect(err).toMatch(new RegExp(`^rollcall: ${reason}.*\n$`));
  const json = run(cron, { ...options, json: true });
  expect(JSON.parse(json.out).errors).toHaveLength(1);
});
