import type { Instant } from './time.ts';

/** The occurrence of a job that goes first: done at this instant; null: not yet. */
export type Upstream = { readonly jobId: number; readonly due: Instant; readonly doneAt: Instant | null };

/** The latest occurrence due at or before `due` of each upstream job that has one. */
export type UpstreamOf = (due: Instant) => readonly Upstream[];

/** When the last of them was done: grace counts from then. Infinity: one is not; -Infinity: there is none. */
export const waitOf = (upstream: readonly Upstream[]): Instant =>
  Math.max(Number.NEGATIVE_INFINITY, ...upstream.map(({ doneAt }) => doneAt ?? Number.POSITIVE_INFINITY));
