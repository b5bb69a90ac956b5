import { type DemoJob, JOBS, workDone } from './jobs.ts';
import type { Rollcall } from './rollcall.ts';

/** One occurrence as the ledger has it, and how often the job's own file says that it was done. */
export type Entry = {
  readonly key: string;
  readonly due: number;
  readonly state: string;
  readonly reason: string | null;
  readonly owed: boolean;
  /** Listed as owed, but only a person's word hands it out. */
  readonly unconfirmed: boolean;
  readonly coveredBy: string | null;
  readonly completions: number;
  readonly timesDone: number;
};

export type Ledger = { readonly job: DemoJob; readonly entries: readonly Entry[] };

/** The ledgers of all jobs, the oldest entry first. */
export async function readLedgers(rollcall: Rollcall, folder: string): Promise<readonly Ledger[]> {
  return Promise.all(
    JOBS.map(async (job) => {
      const { occurrences } = await rollcall.api('GET', `/jobs/${job.slug}/occurrences?limit=500`);
      const { owed } = await rollcall.api('GET', `/jobs/${job.slug}/owed?limit=500`);
      const done = await workDone(folder, job);
      const unconfirmed = new Set(owed.flatMap((entry: OwedJson) => (entry.unconfirmed ? [entry.key] : [])));
      const entries = occurrences.toReversed().map(
        (row: OccurrenceJson): Entry => ({
          key: row.key,
          due: Date.parse(row.scheduled_for),
          state: row.state,
          reason: row.reason,
          owed: row.owed,
          unconfirmed: unconfirmed.has(row.key),
          coveredBy: row.covered_by,
          completions: row.completions,
          timesDone: done.get(row.key) ?? 0,
        }),
      );
      return { job, entries };
    }),
  );
}

type OwedJson = { readonly key: string; readonly unconfirmed: boolean };
type OccurrenceJson = {
  readonly key: string;
  readonly scheduled_for: string;
  readonly state: string;
  readonly reason: string | null;
  readonly owed: boolean;
  readonly covered_by: string | null;
  readonly completions: number;
};

/** All ledgers side by side, from this due instant on; beside each what the files of the job show. */
export function asTable(ledgers: readonly Ledger[], from: number): string {
  const shown = ledgers.map(({ job, entries }) => ({ job, entries: entries.filter(({ due }) => due >= from) }));
  const keys = shown[0]?.entries.map(({ key }) => key) ?? [];
  const heads = [
    ['', ...shown.flatMap(({ job }) => [job.slug.toUpperCase(), ''])],
    ['key', ...shown.flatMap(({ job }) => [job.policy, 'work'])],
  ];
  const rows = keys.map((key) => [
    key,
    ...shown.flatMap(({ entries }) => {
      const entry = entries.find((one) => one.key === key);
      return entry ? [inWords(entry), timesInWords(entry.timesDone)] : ['', ''];
    }),
  ]);
  return aligned([...heads, ...rows]);
}

function inWords({ state, reason, owed, unconfirmed, coveredBy }: Entry): string {
  return [
    state,
    ...(reason === null ? [] : [`(${reason})`]),
    ...(coveredBy === null ? [] : [`by ${coveredBy.slice(11)}`]),
    ...(owed ? ['owed'] : []),
    ...(unconfirmed ? ['unconfirmed'] : []),
  ].join(' ');
}

function timesInWords(times: number): string {
  return times === 0 ? '-' : times === 1 ? 'done' : `done ${times} times`;
}

function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]): string => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ');
  return rows.map((row) => `    ${line(row)}`.trimEnd()).join('\n');
}
