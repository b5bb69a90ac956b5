/**
 * Brings jobs to the horizon now, as the evaluator would; readers call it first, so that the API answers the same before
 * and after a tick. Bounded: a job that is far behind is brought forward by at most 20,000 occurrences.
 */
export type CatchUp = (jobIds: readonly number[]) => Promise<void>;
