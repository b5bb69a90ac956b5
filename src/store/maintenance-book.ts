import {
  type Concerned,
  compileWindow,
  concerns,
  heldUntil,
  type Maintenance,
  maintenanceOf,
  type Revision,
  type When,
  type Window,
} from '../core/maintenance.ts';
import type { Instant, Result } from '../core/time.ts';
import type { Zone } from '../core/zone.ts';
import type { Tx } from './database.ts';
import { maintenanceStamp, readRevisions, type StoredRevision, type StoredWindow } from './maintenance.ts';

/** Where zones are found by name. */
type ZoneSource = { get(name: string): Result<Zone> };

/** What is known about the jobs of a project; null: no window is about this job. */
export type KnownMaintenance = (projectId: number, job: Concerned) => Maintenance | null;

/** The window that a job is in, and until when one or another of them always holds it. */
type Held = { readonly slug: string; readonly until: Instant };

/** The windows of all projects, compiled. What a process has read once it reads again only when some window changed. */
export type MaintenanceBook = {
  /** All that is known by now about jobs of these projects: one look at one row, and nothing more while nothing changed. */
  read(tx: Tx, projectIds: readonly number[]): Promise<KnownMaintenance>;
  /** Of these jobs, those that are in a window at `tx.now`. */
  heldNow(tx: Tx, jobIds: readonly number[]): Promise<ReadonlyMap<number, Held>>;
  /** A window as this process reads it; one that makes no sense holds nothing. What `read` has compiled is not compiled again. */
  compiled(window: Pick<StoredWindow, 'id' | 'projectId' | 'definition'>): Window;
};

/** By revision id, because a window is compiled once and its years are expanded once. */
type Kept = { readonly stamp: string; readonly revisions: ReadonlyMap<number, Revision> };

const NOTHING: Window = { around: () => null, next: () => null };

export function createMaintenanceBook(zones: ZoneSource): MaintenanceBook {
  const projects = new Map<number, Kept>();

  function compiled(when: When): Window {
    try {
      return compileWindow(when, (name) => zoneNamed(zones, name));
    } catch {
      return NOTHING;
    }
  }

  const revisionOf = ({ definition, ...stored }: StoredRevision, known: Revision | undefined): Revision => {
    const { name, reason, jobs, tags, when } = definition;
    const window = known?.window ?? compiled(when);
    return { ...stored, name, reason, jobs, tags, isCalendar: when.kind === 'calendar', window };
  };

  /** The revisions of these projects as of the last change of any. */
  async function revisionsOf(
    tx: Tx,
    projectIds: readonly number[],
  ): Promise<(projectId: number) => readonly Revision[]> {
    const stamp = await maintenanceStamp(tx);
    if (stamp === null) return () => [];
    const stale = [...new Set(projectIds)].filter((id) => projects.get(id)?.stamp !== stamp);
    if (stale.length > 0) keep(stamp, stale, await readRevisions(tx, stale));
    return (projectId) => [...(projects.get(projectId)?.revisions.values() ?? [])];
  }

  function keep(stamp: string, projectIds: readonly number[], stored: readonly StoredRevision[]): void {
    for (const id of projectIds) {
      const known = projects.get(id)?.revisions;
      const own = stored.filter(({ projectId }) => projectId === id);
      const revisions = new Map(own.map((one) => [one.id, revisionOf(one, known?.get(one.id))]));
      projects.set(id, { stamp, revisions });
    }
  }

  return {
    compiled: ({ id, projectId, definition }) =>
      projects.get(projectId)?.revisions.get(id)?.window ?? compiled(definition.when),
    async read(tx, projectIds) {
      const revisions = await revisionsOf(tx, projectIds);
      return (projectId, job) => maintenanceOf(revisions(projectId), job);
    },
    async heldNow(tx, jobIds) {
      if (jobIds.length === 0 || (await maintenanceStamp(tx)) === null) return new Map();
      const jobs = await jobsOf(tx, jobIds);
      const revisions = await revisionsOf(
        tx,
        jobs.map(({ projectId }) => projectId),
      );
      const heldAtNow = holding(tx.now);
      return new Map(
        jobs.flatMap((job) => {
          const held = heldAtNow(revisions(job.projectId), job);
          return held ? [[job.id, held] as const] : [];
        }),
      );
    },
  };
}

function zoneNamed(zones: ZoneSource, name: string): Zone {
  const zone = zones.get(name);
  if (!zone.ok) throw new Error(zone.reason);
  return zone.value;
}

/** What holds a job at this instant. Jobs that the same windows are about are held alike: a thousand of them cost as one. */
function holding(at: Instant): (revisions: readonly Revision[], job: ProjectJob) => Held | null {
  const known = new Map<string, Held | null>();
  return (revisions, job) => {
    const own = revisions.filter((one) => one.knownUntil === null && concerns(one, job));
    const key = [job.projectId, ...own.map(({ slug }) => slug)].join(' ');
    const held = known.get(key) ?? (known.has(key) ? null : heldBy(own, at));
    known.set(key, held);
    return held;
  };
}

function heldBy(own: readonly Revision[], at: Instant): Held | null {
  const first = own.find(({ window }) => window.around(at) !== null);
  const windows = own.map(({ window }) => window);
  const until = first ? heldUntil(windows, at) : null;
  return first && until !== null ? { slug: first.slug, until } : null;
}

type ProjectJob = Concerned & { readonly projectId: number };

async function jobsOf(tx: Tx, jobIds: readonly number[]) {
  return tx.sql<(ProjectJob & { readonly id: number })[]>`
    select id, project_id as "projectId", slug, definition -> 'tags' as tags
    from jobs where id = any(${jobIds as number[]}::bigint[])`;
}
