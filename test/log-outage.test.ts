import { expect, test } from 'vitest';
import { createOutageLog } from '../src/log-outage.ts';
import { DatabaseUnavailable } from '../src/store/database.ts';

type Line = [level: string, fields: object, message: string];

function outageLog() {
  const lines: Line[] = [];
  const level = (name: string) => (fields: object, message: string) => void lines.push([name, fields, message]);
  let now = 0;
  const log = { info: level('info'), warn: level('warn'), error: level('error') };
  const outage = createOutageLog(log as never, 'ingest', () => now);
  const pass = (ms: number): void => {
    now += ms;
  };
  return { lines, outage, pass };
}

const away = new DatabaseUnavailable('database unavailable: ECONNREFUSED');

test('an outage is a line when it begins, one every 30 s, and one when it is over', async () => {
  const { lines, outage, pass } = outageLog();
  await outage.watch(async () => undefined, 'a beat failed');
  for (let tries = 0; tries < 140; tries += 1) {
    await outage.watch(() => Promise.reject(away), 'a beat failed');
    pass(500);
  }
  await outage.watch(async () => undefined, 'a beat failed');
  await outage.watch(async () => undefined, 'a beat failed');
  const { message: error } = away;
  expect(lines).toEqual([
    ['warn', { error }, 'the database is away: ingest tries on'],
    ['warn', { error, failures: 61, seconds: 30 }, 'the database is still away: ingest tries on'],
    ['warn', { error, failures: 121, seconds: 60 }, 'the database is still away: ingest tries on'],
    ['info', { failures: 140, seconds: 70 }, 'the database is back: ingest goes on'],
  ]);
});

test('what is no outage is an error every time, and ends none', async () => {
  const { lines, outage } = outageLog();
  const error = new TypeError('x is not a function');
  outage.failed(away, 'a beat failed', { jobId: 7 });
  for (let tries = 0; tries < 2; tries += 1) await outage.watch(() => Promise.reject(error), 'a beat failed');
  expect(lines.map(([level]) => level)).toEqual(['warn', 'error', 'error']);
  expect(lines[0]?.[1]).toMatchObject({ jobId: 7 });
  expect(lines[1]).toEqual(['error', { error }, 'a beat failed']);
});

test('a try that noted a failure itself does not end the outage', async () => {
  const { lines, outage } = outageLog();
  await outage.watch(async () => outage.failed(away, 'a job failed'), 'a tick failed');
  expect(lines).toHaveLength(1);
  outage.over();
  expect(lines.at(-1)?.[0]).toBe('info');
});
