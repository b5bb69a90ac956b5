import { createHash } from 'node:crypto';
import type { IncidentKind } from '../core/message.ts';
import { type JobStatus, statusOf } from '../core/status.ts';
import type { Instant } from '../core/time.ts';
import type { Zone } from '../core/zone.ts';
import type { Share } from '../store/shares.ts';
import type { StatusGroup } from '../store/status-pages.ts';
import type { StatusIncident, StatusJob } from '../store/status-pages-reading.ts';
import type { RollEntry } from './rolls.ts';
import type { ShownStretch } from './status-pages-maintenance.ts';

/** Status of a job as the public reads it: in a maintenance window, where nothing else is wrong. */
export type PublicStatus = JobStatus | 'maintenance';

/** Everything a status page shows, and nothing else: no slug of the project, no uuid, no word of a run or a person. */
export type StatusView = {
  readonly title: string;
  readonly text: string;
  readonly zone: Zone;
  readonly asOf: Instant;
  readonly groups: readonly ShownGroup[];
  /** Jobs beyond the 200 that a page shows. */
  readonly hidden: number;
  readonly incidents: readonly ShownIncident[];
  readonly maintenance: readonly PublicStretch[];
  readonly hearing: Hearing;
};

/** `id` is made of the public name, and is what badges are asked for by. */
export type ShownGroup = { readonly id: string; readonly name: string; readonly jobs: readonly ShownJob[] };

export type ShownJob = {
  readonly id: string;
  readonly name: string;
  readonly status: PublicStatus;
  readonly roll: readonly RollEntry[];
  readonly lastSuccess: Instant | null;
  readonly nextExpected: Instant | null;
  /** Over the last 7, 30 and 90 days. */
  readonly shares: { readonly d7: Share; readonly d30: Share; readonly d90: Share };
  /** The same for each appearance of one job on a page. Never shown. */
  readonly jobId: number;
};

export type ShownIncident = {
  /** Says nothing, and stays the same. */
  readonly id: string;
  /** Public name and id of the job. */
  readonly job: Pick<ShownJob, 'id' | 'name'>;
  readonly kind: IncidentKind;
  readonly openedAt: Instant;
  readonly endedAt: Instant | null;
  readonly occurrences: number;
};

/** `jobs` null: all that the page shows. */
export type PublicStretch = Omit<ShownStretch, 'jobIds'> & {
  readonly jobs: readonly Pick<ShownJob, 'id' | 'name'>[] | null;
};

/** How well Rollcall itself hears, and what it could not hear in 30 days. */
export type Hearing = {
  /** It hears nothing, or judges nothing because of its clock, or is half a minute behind; null: all is well. */
  readonly trouble: 'deaf' | 'clock' | 'behind' | null;
  /** How far behind it is; null: not known. */
  readonly lagMs: number | null;
  readonly lastHeard: Instant | null;
  readonly blind: readonly { readonly after: Instant; readonly until: Instant }[];
};

/** In maintenance, unless something is wrong all the same. */
export function publicStatus(
  { isPaused, openKinds, newestSettled, isBlocked }: Omit<StatusJob, 'id'>,
  isHeld: boolean,
) {
  const status = statusOf({ paused: isPaused, openKinds, newestSettled, blocked: isBlocked });
  return isHeld && (status === 'up' || status === 'new' || status === 'unknown') ? 'maintenance' : status;
}

/** The groups in their order, their jobs as the page calls them, and an id for each that no other has. */
export function groupsOf(
  groups: readonly StatusGroup[],
  jobs: readonly StatusJob[],
  show: (job: StatusJob) => Omit<ShownJob, 'id' | 'name'>,
): readonly ShownGroup[] {
  const bySlug = new Map(jobs.map((job) => [job.slug, job]));
  const groupId = createPublicIds();
  const jobId = createPublicIds();
  return groups.map(({ name, shows }) => {
    const members =
      shows.kind === 'tag'
        ? jobs
            .filter(({ tags }) => tags.includes(shows.tag))
            .map((job) => ({ job, name: job.name }))
            .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
        : shows.jobs.flatMap(({ job: slug, name: given }) => {
            const job = bySlug.get(slug);
            return job ? [{ job, name: given ?? job.name }] : [];
          });
    return {
      id: groupId(name),
      name,
      jobs: members.map((member) => ({ ...show(member.job), id: jobId(member.name), name: member.name })),
    };
  });
}

/** `Nightly backup` is `nightly-backup`, the second one of that name `nightly-backup-2`. */
function createPublicIds(): (name: string) => string {
  const taken = new Set<string>();
  return (name) => {
    const plain =
      name
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
        .replaceAll(/^-|-$/g, '') || 'unnamed';
    let id = plain;
    for (let count = 2; taken.has(id); count += 1) id = `${plain}-${count}`;
    taken.add(id);
    return id;
  };
}

/** Each job once, as it first appears on the page, in that order. */
function firstAppearances(groups: readonly ShownGroup[]): ReadonlyMap<number, ShownJob> {
  const found = new Map<number, ShownJob>();
  for (const job of groups.flatMap(({ jobs }) => jobs)) if (!found.has(job.jobId)) found.set(job.jobId, job);
  return found;
}

/** Incidents under the public names of their jobs. */
export function shownIncidents(
  incidents: readonly StatusIncident[],
  groups: readonly ShownGroup[],
  pageId: number,
): readonly ShownIncident[] {
  const jobs = firstAppearances(groups);
  return incidents.flatMap(({ id, jobId, kind, openedAt, resolvedAt, occurrences }) => {
    const job = jobs.get(jobId);
    if (!job) return [];
    return [
      {
        id: nameless(`${pageId} ${id}`),
        job: { id: job.id, name: job.name },
        kind,
        openedAt,
        endedAt: resolvedAt,
        occurrences,
      },
    ];
  });
}

/** Ids of the database count the incidents of everybody. */
function nameless(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 12);
}

/** Maintenance under the public names of its jobs. */
export function publicStretches(
  stretches: readonly ShownStretch[],
  groups: readonly ShownGroup[],
): readonly PublicStretch[] {
  const jobs = firstAppearances(groups);
  return stretches.flatMap(({ jobIds, ...stretch }) => {
    const about = [...jobs.values()]
      .filter(({ jobId }) => jobIds.includes(jobId))
      .map(({ id, name }) => ({ id, name }));
    if (about.length === 0) return [];
    return [{ ...stretch, jobs: about.length === jobs.size ? null : about }];
  });
}
