import type { JobDefinition } from '../core/definition.ts';
import type { Instant } from '../core/time.ts';

/** What a person or a program does to a job; each takes the cursor's lock, advances the job to now, applies itself. */
export type Changes = {
  /** Upsert by slug. The first call creates the uuid; a definition that changes nothing is no edit. */
  putJob(
    projectId: number,
    slug: string,
    definition: JobDefinition,
    actor: string,
  ): Promise<{ readonly created: boolean }>;
  /** false: no such job. */
  deleteJob(projectId: number, slug: string, actor: string): Promise<boolean>;
  pauseJob(projectId: number, slug: string, actor: string): Promise<boolean>;
  resumeJob(projectId: number, slug: string, actor: string): Promise<boolean>;
  /** A person's word on one occurrence; `no_occurrence`: not an instant of this job's ledger. */
  settle(
    projectId: number,
    slug: string,
    scheduledFor: Instant,
    decision: { readonly state: 'skipped' | 'on_time'; readonly note: string },
    actor: string,
  ): Promise<'settled' | 'no_job' | 'no_occurrence'>;
};
