import { z } from '@hono/zod-openapi';
import { thresholdKinds } from '../../core/definition.ts';
import { incidentKinds } from '../../core/message.ts';
import { states } from '../../core/occurrence.ts';
import type { JobStatus } from '../../core/status.ts';
import { LIMITS } from './definition.ts';
import type { PageSize } from './query.ts';

// What the document says. Requests are read by hand (fields.ts, query.ts), because an answer names everything that is
// wrong and what to do; the tests hold both together.

const instant = z.string().meta({ format: 'date-time', description: 'RFC 3339, UTC', example: '2026-10-25T00:30:00Z' });
const key = z.string().meta({ description: 'An occurrence key', example: '2026-10-25T02:30+02:00' });
const shortDuration = z.string().meta({ description: 'A duration', example: '10m' });
const DURATION = { description: '"90s", "10m", "6h", "2d", ISO 8601, or whole seconds; at most 366d', example: '10m' };
const period = z.union([z.string(), z.int().min(0)]).meta(DURATION);
const duration = z
  .union([z.string(), z.int().min(0)])
  .nullable()
  .meta(DURATION);
const nextCursor = z.string().nullable().meta({ description: 'For `cursor`, to get the next page; null on the last.' });

const STATUSES: readonly JobStatus[] = ['paused', 'down', 'late', 'blocked', 'new', 'unknown', 'up'];

export const problemSchema = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    errors: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
    past: z
      .strictObject({ key, useful_until: instant })
      .optional()
      .describe('off_schedule of a claim: the current occurrence, which is of no use any more.'),
  })
  .openapi('Problem');

const threshold = z.int().min(1).max(LIMITS.threshold);

const cron = z.strictObject({ cron: z.string().meta({ example: '30 2 * * *' }) });
const heartbeat = <D extends z.ZodType>(length: D) => z.strictObject({ heartbeat: length });

export const definitionSchema = z
  .strictObject({
    name: z.string().max(LIMITS.name).optional().describe('Defaults to the slug.'),
    description: z.string().max(LIMITS.description).optional(),
    tags: z.array(z.string().max(LIMITS.tag)).max(LIMITS.tags).optional(),
    zone: z.string().meta({ description: 'A tz database name, or UTC. No default.', example: 'Europe/Berlin' }),
    schedules: z
      .array(z.union([cron, z.strictObject({ every: period, anchor: instant.optional() }), heartbeat(period)]))
      .describe('Cron and interval schedules, of which the job runs at the union; or one heartbeat alone.'),
    missed_runs: z
      .enum(['catch_up', 'coalesce', 'skip'])
      .nullable()
      .optional()
      .describe('Required, except with a heartbeat, which takes none.'),
    missed_runs_reason: z.string().max(LIMITS.reason).optional(),
    early: duration.optional().describe('Default: 10 % of the gap before, at most 5m. May be 0.'),
    start_within: duration.optional().describe('Default: none.'),
    grace: duration.optional().describe('Default: 5m, or useful_for if that is shorter. May be 0.'),
    useful_for: duration.optional().describe('Default: unbounded; with skip, until the next occurrence.'),
    max_runtime: duration.optional().describe('Default: none.'),
    max_catch_up: z
      .int()
      .min(0)
      .max(10_000)
      .nullable()
      .optional()
      .describe('More owed than this under catch_up, and a person has to say run or skip. Default: 100.'),
    throttle: duration.optional().describe('Between two hand-outs of what is owed; may be 0s. Default: 10s.'),
    alert_after: z
      .partialRecord(z.enum(thresholdKinds), z.strictObject({ count: threshold, of: threshold.optional() }))
      .optional()
      .describe('Told only when `count` of the last `of` occurrences were in trouble of that kind. Default: at once.'),
    after: z
      .array(z.string())
      .max(LIMITS.after)
      .optional()
      .describe('Jobs that go first: while one is not done, this one is blocked and does not alert.'),
    overlap: z
      .enum(['forbid', 'allow', 'replace'])
      .optional()
      .describe('What a claim does while a run is in progress. Default: forbid. replace: not with catch_up.'),
    duplicates: z.enum(['alert', 'record']).optional().describe('Default: alert.'),
    unscheduled: z.enum(['record', 'alert']).optional().describe('Default: record.'),
    channels: z
      .array(z.string())
      .max(LIMITS.channels)
      .nullable()
      .optional()
      .describe('Left out or null: every channel of the project, later ones too. []: nobody.'),
  })
  .openapi('JobDefinition');

const nullableShort = shortDuration.nullable().describe('null: the default applies');

export const jobSchema = z
  .strictObject({
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    tags: z.array(z.string()),
    zone: z.string(),
    schedules: z.array(
      z.union([cron, z.strictObject({ every: shortDuration, anchor: instant }), heartbeat(shortDuration)]),
    ),
    missed_runs: z.enum(['catch_up', 'coalesce', 'skip']).nullable(),
    missed_runs_reason: z.string(),
    early: nullableShort,
    start_within: nullableShort,
    grace: nullableShort,
    useful_for: nullableShort,
    max_runtime: nullableShort,
    max_catch_up: z.int().nullable(),
    throttle: nullableShort,
    alert_after: z.partialRecord(z.enum(thresholdKinds), z.strictObject({ count: threshold, of: threshold })),
    after: z.array(z.string()),
    blocked_on: z
      .array(z.object({ job: z.string(), scheduled_for: instant }))
      .describe('What its open occurrences wait for (after).'),
    overlap: z.enum(['forbid', 'allow', 'replace']),
    duplicates: z.enum(['alert', 'record']),
    unscheduled: z.enum(['record', 'alert']),
    channels: z.array(z.string()).nullable(),
    uuid: z.string().nullable().describe('null, as ping_url, where the key has neither write nor ping.'),
    ping_url: z.string().nullable().describe('Whoever has it can ping the job.'),
    status: z.enum(STATUSES),
    paused: z.boolean(),
    unreviewed: z.boolean().describe('Made by create=1, and no person has defined it yet.'),
    warnings: z.array(z.string()),
    next_due: z.strictObject({ key, scheduled_for: instant }).nullable(),
    last_completed: key.nullable(),
    created_at: instant,
  })
  .openapi('Job');

export const occurrenceSchema = z
  .strictObject({
    key,
    scheduled_for: instant,
    state: z.enum(states),
    reason: z.string().nullable(),
    owed: z.boolean(),
    completions: z.int(),
    stands_for: z.int().describe('How many local times land on this instant.'),
    started_at: instant.nullable(),
    completed_at: instant.nullable(),
    duration_ms: z.int().nullable(),
    covered_by: key.nullable(),
    matched_by: z.string().nullable(),
    note: z.string().nullable(),
  })
  .openapi('Occurrence');

export const settleSchema = z
  .strictObject({ state: z.enum(['skipped', 'on_time']), note: z.string().max(LIMITS.reason).optional() })
  .openapi('Decision');

export const owedSchema = z
  .strictObject({
    key,
    scheduled_for: instant,
    state: z.enum(states),
    useful_until: instant.nullable().describe('null: unbounded'),
    run_after: instant.nullable().describe('Not handed out before; null: not before a person has said run.'),
    unconfirmed: z.boolean().describe('Nobody knows whether it ran: a person says run or skip.'),
  })
  .openapi('Owed');

export const claimRequestSchema = z
  .strictObject({
    rid: z.string().meta({
      format: 'uuid',
      description: 'The run id that the pings of this run will carry; a new one for each run.',
      example: '4b7a1d2e-8c3f-4a5b-9d6e-0f1a2b3c4d5e',
    }),
  })
  .openapi('ClaimRequest');

export const claimSchema = z
  .strictObject({
    id: z.int(),
    key,
    scheduled_for: instant,
    useful_until: instant.nullable().describe('null: unbounded'),
    lease_until: instant.describe('Extend the claim before, or the occurrence is handed to somebody else.'),
  })
  .openapi('Claim');

const backlogDecision = z.enum(['run', 'skip']);

export const backlogRequestSchema = z.strictObject({ decision: backlogDecision }).openapi('BacklogRequest');

export const backlogSchema = z
  .strictObject({
    decision: backlogDecision,
    until: instant.describe('It is about what was due by then; later ones count anew.'),
    count: z.int().describe('How many occurrences: skipped, or owed and confirmed now.'),
  })
  .openapi('Backlog');

export const pingSchema = z
  .strictObject({
    id: z.int(),
    kind: z.enum(['start', 'success', 'fail', 'log']),
    exit_code: z.int().nullable(),
    rid: z.string().nullable(),
    received_at: instant,
    at: instant,
    key: key.nullable(),
    matched_by: z.string(),
    source: z.string().nullable(),
    user_agent: z.string().nullable(),
    body_bytes: z.int(),
    truncated: z.boolean(),
  })
  .openapi('Ping');

export const incidentSchema = z
  .strictObject({
    id: z.int(),
    job: z.string(),
    kind: z.enum(incidentKinds),
    state: z.enum(['open', 'resolved']),
    opened_at: instant,
    acked_at: instant.nullable(),
    acked_by: z
      .string()
      .nullable()
      .describe('An API key by the begin of its hash, or the channel whose link was used.'),
    snoozed_until: instant.nullable().describe('Nothing of it goes out before; null: not snoozed.'),
    snoozed_by: z.string().nullable(),
    resolved_at: instant.nullable(),
    occurrence_count: z.int(),
    occurrences: z
      .array(z.strictObject({ key, scheduled_for: instant, state: z.enum(states) }))
      .describe('Oldest first, the first 100.'),
  })
  .openapi('Incident');

export const snoozeSchema = z
  .strictObject({
    until: z.string().nullable().meta({
      description: 'An RFC 3339 instant or a duration from now, at most 366d away; null ends the snooze.',
      example: '4h',
    }),
  })
  .openapi('Snooze');

export const notificationSchema = z
  .strictObject({
    channel: z.string(),
    event: z.int().describe('Events of an incident are numbered from 1.'),
    type: z.enum(['incident.opened', 'incident.reminded', 'incident.resolved']),
    reminded_by: z
      .enum(['occurrence', 'interval', 'snooze_over'])
      .nullable()
      .describe('Of incident.reminded: an occurrence joined, or nothing new; else null.'),
    state: z
      .enum(['waiting', 'delivered', 'rejected', 'withheld', 'expired'])
      .describe('withheld with not_before: it is looked at again then.'),
    reason: z.string().nullable().describe('Why it is withheld, or what the last attempt said.'),
    attempts: z.int(),
    message_id: z.string().nullable().describe('The message that it was in; see the attempts of the channel.'),
    not_before: instant.nullable(),
    delivered_at: instant.nullable(),
  })
  .openapi('Notification');

export const attemptSchema = z
  .strictObject({
    at: instant,
    outcome: z.enum(['delivered', 'retry', 'rejected']),
    reason: z.string().nullable(),
    message_id: z.string().describe('Equal on every attempt of a message.'),
    incidents: z
      .array(z.strictObject({ id: z.int(), kind: z.enum(incidentKinds), job: z.string() }))
      .describe('What the message told of; the first 100.'),
    notices: z
      .array(z.strictObject({ id: z.int(), kind: z.enum(['unknown', 'operator', 'report']), text: z.string() }))
      .describe('What it said beside; the first 100. No incidents and no notices: a test.'),
  })
  .openapi('Attempt');

export const routeSchema = z
  .strictObject({
    channel: z.string(),
    kind: z.string().describe('Of the channel.'),
    told: z.boolean(),
    reason: z.string(),
  })
  .openapi('Route');

export const channelSchema = z
  .looseObject({
    slug: z.string(),
    kind: z.string(),
    operator: z.boolean(),
    remind_every: shortDuration.nullable().describe('An open incident is told again after this; null: never.'),
    routes: z
      .strictObject({ kinds: z.array(z.string()).nullable(), tags: z.array(z.string()).nullable() })
      .nullable()
      .describe('What it gets beside what jobs send it by name; null: what jobs send it, and nothing else.'),
    created_at: instant,
    dead_since: instant.nullable().describe('Since when nothing gets through.'),
    last_failure: z.string().nullable(),
  })
  .openapi('Channel', { description: 'With the settings of its kind, as far as they are no secret.' });

export const deliverySchema = z.strictObject({ outcome: z.literal('delivered'), reason: z.null() }).openapi('Delivery');

export const undeliveredSchema = problemSchema
  .extend({
    outcome: z.enum(['retry', 'rejected']).describe('Whether a message would be tried again; a test is not.'),
    reason: z.string().describe('What the receiver answered, or what prevented an answer.'),
  })
  .openapi('NotDelivered');

export const previewSchema = z
  .strictObject({
    occurrences: z.array(z.strictObject({ key, scheduled_for: instant })),
    warnings: z.array(z.string()),
  })
  .openapi('Preview');

/** Text as it is. */
export const textSchema = z.string();

/** A page of a list: `{<plural>, next_cursor}`. */
export function listOf<P extends string>(plural: P, item: z.ZodType) {
  return z.strictObject({ [plural]: z.array(item), next_cursor: nextCursor });
}

/** The parameters of a list, with those of its own. */
export function listQuery(size: PageSize, own: Readonly<Record<string, z.ZodType>> = {}) {
  return z.object({
    ...own,
    limit: limitParameterOf(size),
    cursor: textParameterOf('next_cursor of the page before.'),
  });
}

/** `limit` as the document describes it. */
export function limitParameterOf({ usual, most }: PageSize) {
  return textParameterOf(`How many at most: ${usual} by default; more than ${most} is cut to ${most}.`);
}

/** An instant as a parameter. */
export function instantParameterOf(description: string) {
  return instant.optional().describe(description);
}

/** A parameter that is text. */
export function textParameterOf(description: string) {
  return z.string().optional().describe(description);
}

/** The parameters of a call that is no list. */
export function previewQuery(parameters: Readonly<Record<string, z.ZodType>>) {
  return z.object(parameters);
}
