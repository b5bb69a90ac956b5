import { readHearing } from '../store/beats.ts';
import type { Database } from '../store/database.ts';
import { type AdvanceDeps, advanceJob } from './advancing.ts';

/**
 * Brings jobs to the horizon now, as the evaluator would; readers call it first, so that the API answers the same before
 * and after a tick. Bounded: a job that is far behind is brought forward by at most 20,000 occurrences.
 */
export type CatchUp = (jobIds: readonly number[]) => Promise<void>;

const MAX_ROUNDS = 20;

export function createCatchUp(deps: AdvanceDeps & { readonly database: Database }): CatchUp {
  return async (jobIds) => {
    for (const jobId of jobIds) {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const result = await deps.database.transaction(async (tx) => {
          const { horizon: until } = await readHearing(tx);
          return until === null ? 'gone' : advanceJob(tx, deps, jobId, { until, wait: true });
        });
        if (result !== 'behind') break;
      }
    }
  };
}
