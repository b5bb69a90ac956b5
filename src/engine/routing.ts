import { heartbeatPeriod, type JobDefinition, type ThresholdKind } from '../core/definition.ts';
import { formatInstant } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import { readJob, type StoredJob } from '../store/jobs.ts';
import { type Route, routesOf, type ToldKind } from '../store/routing.ts';
import type { MaintenanceNow, ReadMaintenance } from '../store/withholding.ts';

/** Whether a channel would be told if such an incident opened now, and why. `kind` is that of the channel. */
export type RoutingLine = {
  readonly channel: string;
  readonly kind: string;
  readonly told: boolean;
  readonly reason: string;
};

/** The dry run: by the very decision that routes a message, and by what would withhold it now. null: no such job. */
export async function readRouting(
  tx: Tx,
  { jobId, kind }: { readonly jobId: number; readonly kind: ToldKind },
  readMaintenance: ReadMaintenance | undefined,
): Promise<readonly RoutingLine[] | null> {
  const job = await readJob(tx, jobId);
  if (!job) return null;
  const routes = await routesOf(tx, jobId, kind);
  const circumstances = { job, kind, window: (await readMaintenance?.(tx, [jobId]))?.get(jobId) };
  return routes.map((route) => ({
    channel: route.channel,
    kind: route.channelKind,
    ...verdict(route, circumstances),
  }));
}

type Verdict = { readonly told: boolean; readonly reason: string };
type Circumstances = {
  readonly job: StoredJob;
  readonly kind: ToldKind;
  readonly window: MaintenanceNow | undefined;
};

function verdict(route: Route, { job, kind, window }: Circumstances): Verdict {
  const { definition } = job;
  const way = wayOf(route, definition);
  if (!way.told) return way;
  const silent = job.pausedAt === null ? silence(definition, kind) : 'the job is paused: nothing of it is told';
  if (silent !== null) return { told: false, reason: silent };
  const reasons = [
    way.reason,
    threshold(definition, kind),
    blocked(definition, kind),
    dead(route),
    window && withheld(window),
  ];
  return { told: window === undefined, reason: reasons.filter((one) => typeof one === 'string').join('; ') };
}

const withheld = ({ slug, until }: MaintenanceNow): string =>
  `withheld by maintenance ${slug} until ${formatInstant(until)}, and told then if it is still open`;

function wayOf({ reason, routeKinds, routeTags }: Route, { channels }: JobDefinition): Verdict {
  const kinds = (routeKinds ?? ['all']).join(', ');
  const tags = (routeTags ?? ['any']).join(', ');
  switch (reason) {
    case 'named':
      return { told: true, reason: 'the job names it' };
    case 'every_channel':
      return { told: true, reason: 'the job names no channels: it tells every one that has no routes' };
    case 'matches':
      return { told: true, reason: `its routes match: kinds ${kinds}; tags ${tags}` };
    case 'nobody':
      return { told: false, reason: 'the job tells nobody: its channels are []' };
    case 'not_named':
      return { told: false, reason: `the job names other channels: ${(channels ?? []).join(', ')}` };
    case 'other_kind':
      return { told: false, reason: `its routes take other kinds: ${kinds}` };
    case 'other_tags':
      return { told: false, reason: `its routes take jobs with other tags: ${tags}` };
  }
}

/** Why no incident of this kind ever opens with these settings; null: one may. */
function silence(definition: JobDefinition, kind: ToldKind): string | null {
  const isHeartbeat = heartbeatPeriod(definition.schedules) !== null;
  switch (kind) {
    case 'not_started':
      return definition.startWithin === null ? 'none opens: the job has no start_within' : null;
    case 'overrun':
      return definition.maxRuntime === null ? 'none opens: the job has no max_runtime' : null;
    case 'duplicate':
      if (isHeartbeat) return 'none opens: a heartbeat knows no duplicates';
      return definition.duplicates === 'record' ? 'none opens: duplicates are only recorded' : null;
    case 'unscheduled':
      return definition.unscheduled === 'record' ? 'none opens: runs off schedule are only recorded' : null;
    case 'backlog':
      return definition.missedRuns === 'catch_up' ? null : 'none opens: only a catch_up job has a backlog';
    default:
      return null;
  }
}

function threshold({ alertAfter }: JobDefinition, kind: ToldKind): string | null {
  const rule = alertAfter[kind as ThresholdKind];
  if (!rule || rule.count <= 1) return null;
  return rule.count === rule.of ? `after ${rule.count} in a row` : `after ${rule.count} of the last ${rule.of}`;
}

/** What has begun is judged as ever. */
function blocked({ after }: JobDefinition, kind: ToldKind): string | null {
  if (after.length === 0 || (kind !== 'missing' && kind !== 'not_started')) return null;
  return `not while it waits for ${after.join(', ')} (after)`;
}

function dead({ deadSince }: Route): string | null {
  return deadSince === null ? null : `but nothing has got through to it since ${formatInstant(deadSince)}`;
}
