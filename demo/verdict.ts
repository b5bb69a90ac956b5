import type { Policy } from './jobs.ts';
import type { Entry, Ledger } from './ledger.ts';

/** What happened around an occurrence: the jobs were started; their host was down; Rollcall was away as well. */
export type Circumstance = 'started' | 'host_down' | 'rollcall_away';

type Ending = { readonly states: readonly string[]; readonly done: boolean };

const RAN: Ending = { states: ['on_time', 'late'], done: true };

/** The end that each policy says, once everything owed has been paid. */
const ENDINGS: Readonly<Record<Policy, Readonly<Record<Circumstance, Ending>>>> = {
  catch_up: {
    started: RAN,
    host_down: { states: ['late'], done: true },
    // After a person's word.
    rollcall_away: { states: ['late'], done: true },
  },
  coalesce: {
    started: RAN,
    host_down: { states: ['coalesced'], done: false },
    // Unknown where even the next run came too late to cover it.
    rollcall_away: { states: ['coalesced', 'unknown'], done: false },
  },
  skip: {
    started: RAN,
    host_down: { states: ['missed'], done: false },
    rollcall_away: { states: ['unknown'], done: false },
  },
};

/** What is not as the policies say: one line each, none when all is well. */
export function complaints(ledgers: readonly Ledger[], circumstanceOf: (due: number) => Circumstance): string[] {
  return ledgers.flatMap(({ job, entries }) =>
    entries.flatMap((entry) => {
      const circumstance = circumstanceOf(entry.due);
      const ending = ENDINGS[job.policy][circumstance];
      const flaws = flawsOf(entry, ending);
      return flaws.length === 0 ? [] : [`${job.slug} ${entry.key} (${circumstance}): ${flaws.join(', ')}`];
    }),
  );
}

function flawsOf(entry: Entry, { states, done }: Ending): readonly string[] {
  const { state, owed, unconfirmed, completions, timesDone, coveredBy } = entry;
  const times = done ? 1 : 0;
  return [
    ...(states.includes(state) ? [] : [`is ${state}, not ${states.join(' or ')}`]),
    ...(owed || unconfirmed ? ['is still owed'] : []),
    ...(timesDone === times ? [] : [`was done ${timesDone} times, not ${times}`]),
    ...(completions === times ? [] : [`has ${completions} completions in the ledger, not ${times}`]),
    ...(state === 'coalesced' && coveredBy === null ? ['is covered by none'] : []),
  ];
}
