import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseSchedules, type Timetable, timetable } from '../../src/core/schedule.ts';
import { parseCron } from '../../src/core/schedule-cron.ts';
import { formatInstant, type Instant } from '../../src/core/time.ts';
import type { Zone } from '../../src/core/zone.ts';
import { loadZones } from '../../src/zones.ts';

type Expansion = { id: string; expr: string; zone: string; from: string; until: string; due: string[]; note: string };
type Verdict = {
  id: string;
  expr: string;
  valid: boolean;
  reason: string;
  kind?: string;
  zone?: string;
  from?: string;
  first?: string[];
};

const zones = loadZones();
const lines = <T>(file: string): T[] =>
  readFileSync(new URL(`../vectors/${file}`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
const zone = (name: string): Zone => {
  const found = zones.get(name);
  if (!found.ok) throw new Error(found.reason);
  return found.value;
};
const at = (text: string): Instant => Date.parse(text);

function backwards(table: Timetable, from: Instant, until: Instant): string[] {
  const found: string[] = [];
  for (let due = table.previous(until + 1); due && due.at > from; due = table.previous(due.at))
    found.unshift(formatInstant(due.at));
  return found;
}

describe('the golden vectors of cron expansion', () => {
  test.each(lines<Expansion>('cron.jsonl'))(
    '$id "$expr" in $zone: $note',
    ({ expr, zone: name, from, until, due, note }) => {
      const table = timetable([{ cron: expr }], zone(name));
      expect([...table.dueIn(at(from), at(until))].map((one) => formatInstant(one.at))).toEqual(due);
      expect(backwards(table, at(from), at(until))).toEqual(due);
      const read = parseCron(expr);
      expect(read.ok && read.value.isFixed).toBe(note.startsWith('F'));
    },
  );
});

describe('the golden vectors of cron syntax', () => {
  const verdicts = lines<Verdict>('cron-accept-reject.jsonl');

  test.each(verdicts.filter(({ valid }) => !valid))('$id "$expr" is refused: $reason', ({ expr }) => {
    const read = parseSchedules([{ cron: expr }], zone('UTC'));
    expect(read).toMatchObject({
      ok: false,
      errors: [{ path: 'schedules[0].cron', message: expect.stringMatching(/\w{3}/) }],
    });
  });

  test.each(verdicts.filter(({ valid }) => valid))(
    '$id "$expr" is accepted: $reason',
    ({ expr, kind, zone: name, from, first }) => {
      const read = parseSchedules([{ cron: expr }], zone(name ?? ''));
      if (!read.ok) throw new Error(read.errors[0]?.message);
      const cron = parseCron(expr);
      expect(cron.ok && cron.value.isFixed).toBe(kind === 'F');
      const due: string[] = [];
      for (const one of timetable(read.value, zone(name ?? '')).dueIn(at(from ?? ''), Number.POSITIVE_INFINITY)) {
        due.push(formatInstant(one.at));
        if (due.length === first?.length) break;
      }
      expect(due).toEqual(first);
    },
  );
});
