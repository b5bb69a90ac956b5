import { CronExpressionParser } from 'cron-parser';
import { Cron as Croner } from 'croner';
import { timetable } from '../src/core/schedule.ts';
import type { Zone } from '../src/core/zone.ts';
import { loadZones } from '../src/zones.ts';

/** Occurrences found per second, one after the other, and ours as a multiple of each. */
export type ExpansionFigures = {
  readonly expression: string;
  readonly zone: string;
  readonly rollcall: number;
  readonly cronParser: number;
  readonly croner: number;
  readonly timesCronParser: number;
  readonly timesCroner: number;
};

const FROM = Date.UTC(2026, 0, 1);
/** Each measurement runs this long; 4 schedules × 3 libraries × 0.6 s stay under 10 s. */
const MEASURE_MS = 600;
const SCHEDULES = [
  ['30 2 * * *', 'Europe/Berlin'],
  ['*/15 * * * *', 'America/New_York'],
  ['0 9 1,15 * 1', 'Australia/Lord_Howe'],
  ['0,30 8-18 * * 1-5', 'UTC'],
] as const;

/** Measures expansion beside cron-parser's iterator and croner, in one run on one machine: compare the ratios. */
export async function expansionBench(): Promise<readonly ExpansionFigures[]> {
  const zones = loadZones();
  const figures: ExpansionFigures[] = [];
  for (const [expression, name] of SCHEDULES) {
    const zone = zones.get(name);
    if (!zone.ok) throw new Error(zone.reason);
    const rollcall = perSecond(ourSteps(expression, zone.value));
    const cronParser = perSecond(cronParserSteps(expression, name));
    const croner = perSecond(cronerSteps(expression, name));
    const [timesCronParser, timesCroner] = [Math.round(rollcall / cronParser), Math.round(rollcall / croner)];
    figures.push({ expression, zone: name, rollcall, cronParser, croner, timesCronParser, timesCroner });
    // Lets timers and signals through between two measurements.
    await new Promise((resume) => setImmediate(resume));
  }
  return figures;
}

type Steps = (count: number) => number;

function perSecond(steps: Steps): number {
  steps(200);
  let found = 0;
  const start = performance.now();
  let elapsed = 0;
  for (let count = 200; elapsed < MEASURE_MS; count *= elapsed < MEASURE_MS / 8 ? 2 : 1) {
    found += steps(count);
    elapsed = performance.now() - start;
  }
  return Math.round((found / elapsed) * 1000);
}

function ourSteps(expression: string, zone: Zone): Steps {
  const table = timetable([{ cron: expression }], zone);
  return (count) => {
    let found = 0;
    for (const due of table.dueIn(FROM, Number.POSITIVE_INFINITY)) if (due.at > 0 && ++found === count) break;
    return found;
  };
}

function cronParserSteps(expression: string, tz: string): Steps {
  return (count) => {
    const iterator = CronExpressionParser.parse(expression, { tz, currentDate: new Date(FROM) });
    let found = 0;
    try {
      for (; found < count; found++) iterator.next();
    } catch {
      // Its iterator gives up at some dates ("loop limit exceeded"); what it found until then counts.
    }
    return found;
  };
}

function cronerSteps(expression: string, timezone: string): Steps {
  const job = new Croner(expression, { timezone, paused: true });
  return (count) => {
    let at: Date | null = new Date(FROM);
    for (let i = 0; i < count && at; i++) at = job.nextRun(at);
    return count;
  };
}

/** One line for each schedule, for people. */
export function expansionLines(figures: readonly ExpansionFigures[]): readonly string[] {
  const number = (value: number): string => value.toLocaleString('en-US').padStart(11);
  return figures.map(
    ({ expression, zone, rollcall, cronParser, croner, timesCronParser, timesCroner }) =>
      `${expression.padEnd(18)} ${zone.padEnd(20)} rollcall ${number(rollcall)}/s  cron-parser ${number(cronParser)}/s (${timesCronParser}x)  croner ${number(croner)}/s (${timesCroner}x)`,
  );
}

if (import.meta.filename === process.argv[1]) {
  for (const line of expansionLines(await expansionBench())) console.log(line);
}
