import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  customType,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';

/** timestamptz as an Instant (epoch milliseconds); the driver hands over ISO text or, in raw queries, the number itself. */
const instant = customType<{ data: number; driverData: string | number | Date }>({
  dataType: () => 'timestamp with time zone',
  toDriver: (at) => new Date(at).toISOString(),
  fromDriver: (value) => (typeof value === 'number' ? value : new Date(value).getTime()),
});

const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({ dataType: () => 'bytea' });

const id = () => bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity();
const jobId = () =>
  bigint('job_id', { mode: 'number' })
    .notNull()
    .references(() => jobs.id, { onDelete: 'cascade' });
const projectId = () =>
  bigint('project_id', { mode: 'number' })
    .notNull()
    .references(() => projects.id, { onDelete: 'cascade' });

export const projects = pgTable('projects', {
  id: id(),
  slug: text('slug').notNull().unique(),
  name: text('name').notNull(),
  createdAt: instant('created_at').notNull(),
});

/**
 * API and ping keys, hashed (SHA-256, hex). A rotated ping key works until `expires_at`, a revoked key no longer.
 * `scopes` of an API key: read, write (and read), ping (its key may stand in a ping URL).
 */
export const keys = pgTable('keys', {
  id: id(),
  projectId: projectId(),
  kind: text('kind', { enum: ['api', 'ping'] }).notNull(),
  hash: text('hash').notNull().unique(),
  name: text('name').notNull().default(''),
  /** Its first characters, to tell keys apart by. */
  hint: text('hint').notNull().default(''),
  scopes: text('scopes').array().notNull().default(['read', 'write']),
  createdBy: text('created_by').notNull().default(''),
  createdAt: instant('created_at').notNull(),
  lastUsedAt: instant('last_used_at'),
  expiresAt: instant('expires_at'),
});

/** A date as better-auth reads and writes it; the driver hands over ISO text or epoch milliseconds. */
const date = customType<{ data: Date; driverData: string | number | Date }>({
  dataType: () => 'timestamp with time zone',
  toDriver: (at) => at.toISOString(),
  fromDriver: (value) => new Date(value),
});
const dates = () => ({ createdAt: date('created_at').notNull(), updatedAt: date('updated_at').notNull() });
const userId = () =>
  text('user_id')
    .notNull()
    .references(() => users.id, { onDelete: 'cascade' });

/**
 * People. This table and the five after it are better-auth's, under its names. Accounts are made and reset by people.ts, in one
 * transaction with what they are for; the rest of the rows is better-auth's.
 */
export const users = pgTable('users', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  email: text('email').notNull().unique(),
  emailVerified: boolean('email_verified').notNull().default(false),
  image: text('image'),
  twoFactorEnabled: boolean('two_factor_enabled').default(false),
  /** The zone a person reads times in; null: that of the browser. */
  zone: text('zone'),
  ...dates(),
});

export const sessions = pgTable(
  'sessions',
  {
    id: text('id').primaryKey(),
    token: text('token').notNull().unique(),
    expiresAt: date('expires_at').notNull(),
    ipAddress: text('ip_address'),
    userAgent: text('user_agent'),
    userId: userId(),
    ...dates(),
  },
  (t) => [index('sessions_user').on(t.userId)],
);

export const accounts = pgTable(
  'accounts',
  {
    id: text('id').primaryKey(),
    accountId: text('account_id').notNull(),
    providerId: text('provider_id').notNull(),
    userId: userId(),
    accessToken: text('access_token'),
    refreshToken: text('refresh_token'),
    idToken: text('id_token'),
    accessTokenExpiresAt: date('access_token_expires_at'),
    refreshTokenExpiresAt: date('refresh_token_expires_at'),
    scope: text('scope'),
    password: text('password'),
    ...dates(),
  },
  (t) => [index('accounts_user').on(t.userId)],
);

export const verifications = pgTable(
  'verifications',
  {
    id: text('id').primaryKey(),
    identifier: text('identifier').notNull(),
    value: text('value').notNull(),
    expiresAt: date('expires_at').notNull(),
    ...dates(),
  },
  (t) => [index('verifications_identifier').on(t.identifier)],
);

export const twoFactors = pgTable(
  'two_factors',
  {
    id: text('id').primaryKey(),
    secret: text('secret').notNull(),
    backupCodes: text('backup_codes').notNull(),
    userId: userId(),
    verified: boolean('verified').default(true),
    failedVerificationCount: integer('failed_verification_count').default(0),
    lockedUntil: date('locked_until'),
  },
  (t) => [index('two_factors_user').on(t.userId)],
);

export const rateLimits = pgTable('rate_limits', {
  id: text('id').primaryKey(),
  key: text('key').notNull().unique(),
  count: integer('count').notNull(),
  lastRequest: bigint('last_request', { mode: 'number' }).notNull(),
});

/** Who may do what in a project: a viewer reads, an editor changes what is watched, an owner also people and keys. */
export const members = pgTable(
  'members',
  {
    projectId: projectId(),
    userId: userId(),
    role: text('role', { enum: ['owner', 'editor', 'viewer'] }).notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.projectId, t.userId] }), index('members_user').on(t.userId)],
);

/** A link by which one person becomes a member; only the hash of its token is kept. */
export const invitations = pgTable(
  'invitations',
  {
    id: id(),
    projectId: projectId(),
    email: text('email').notNull(),
    role: text('role', { enum: ['owner', 'editor', 'viewer'] }).notNull(),
    hash: text('hash').notNull().unique(),
    invitedBy: text('invited_by').notNull(),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
    acceptedAt: instant('accepted_at'),
  },
  (t) => [index('invitations_project').on(t.projectId)],
);

/** What the rest of the company sees, at /status/{slug} and, where `host` is set, at / of that host name. */
export const statusPages = pgTable('status_pages', {
  id: id(),
  projectId: projectId(),
  slug: text('slug').notNull().unique(),
  /** What PUT gave, parsed. */
  definition: jsonb('definition').notNull(),
  host: text('host').unique(),
  /** null: everybody may see it. */
  passwordHash: text('password_hash'),
  createdAt: instant('created_at').notNull(),
});

/** `definition`: what PUT gave, parsed (JobDefinition of core/definition.ts). The uuid is a capability: it pings the job. */
export const jobs = pgTable(
  'jobs',
  {
    id: id(),
    projectId: projectId(),
    uuid: uuid('uuid').notNull().unique(),
    slug: text('slug').notNull(),
    definition: jsonb('definition').notNull(),
    unreviewed: boolean('unreviewed').notNull().default(false),
    createdAt: instant('created_at').notNull(),
    /** Deadlines and policy now in force act on what is open from here on. */
    settingsSince: instant('settings_since').notNull(),
    pausedAt: instant('paused_at'),
  },
  (t) => [unique('jobs_project_slug').on(t.projectId, t.slug)],
);

/** A version covers (starts_after, ends_at]; the newest has no end. */
export const scheduleVersions = pgTable(
  'schedule_versions',
  {
    jobId: jobId(),
    number: integer('number').notNull(),
    zone: text('zone').notNull(),
    schedules: jsonb('schedules').notNull(),
    startsAfter: instant('starts_after').notNull(),
    endsAt: instant('ends_at'),
    tzVersion: text('tz_version').notNull(),
  },
  (t) => [primaryKey({ columns: [t.jobId, t.number] })],
);

/** The transitions of a zone as they were in a tz database, so that a version is read by the one it was made with. */
export const zoneTables = pgTable(
  'zone_tables',
  {
    tzVersion: text('tz_version').notNull(),
    zone: text('zone').notNull(),
    /** ZoneTable of core/zone.ts, without its name. */
    table: jsonb('zone_table').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tzVersion, t.zone] })],
);

/** Stretches (after, until] in which the job was paused; the open one has no end. */
export const pauses = pgTable(
  'pauses',
  { jobId: jobId(), after: instant('after').notNull(), until: instant('until') },
  (t) => [primaryKey({ columns: [t.jobId, t.after] })],
);

/** One narrow row per job, locked by everything that changes the job. */
export const cursors = pgTable(
  'cursors',
  {
    jobId: bigint('job_id', { mode: 'number' })
      .primaryKey()
      .references(() => jobs.id, { onDelete: 'cascade' }),
    version: integer('version').notNull(),
    /** First instant without a row or roll-up; null: none to come, or a heartbeat whose open occurrence has a row. */
    nextUnrecorded: instant('next_unrecorded'),
    openIncidents: integer('open_incidents').notNull().default(0),
    nextCheckAt: instant('next_check_at'),
    /** Pings stored but not applied yet (job far behind). */
    deferred: integer('deferred').notNull().default(0),
    /** Evaluations that failed in a row; the job is not tried again before `retry_at`. */
    failures: smallint('failures').notNull().default(0),
    retryAt: instant('retry_at'),
    constantRid: boolean('constant_rid').notNull().default(false),
    /** catch_up: wanted ones that no decision was taken about. */
    backlog: integer('backlog').notNull().default(0),
    /** A person said run or skip about what was due by then. */
    decidedUntil: instant('decided_until'),
    /** The last claim was given then; the next owed one follows after the throttle. */
    lastHandOut: instant('last_hand_out'),
  },
  (t) => [index('cursors_due').on(t.nextCheckAt)],
);

export const occurrences = pgTable(
  'occurrences',
  {
    jobId: jobId(),
    scheduledFor: instant('scheduled_for').notNull(),
    version: integer('version').notNull(),
    state: text('state').notNull(),
    reason: text('reason'),
    settledAt: instant('settled_at'),
    standsFor: smallint('stands_for').notNull().default(1),
    completions: integer('completions').notNull().default(0),
    /** The first run of it began. */
    startedAt: instant('started_at'),
    completedAt: instant('completed_at'),
    durationMs: bigint('duration_ms', { mode: 'number' }),
    /** The run whose success completed it. */
    completedBy: bigint('completed_by', { mode: 'number' }),
    coveredBy: instant('covered_by'),
    matchedBy: text('matched_by'),
    /** The policy still wants it (owed unless a run is in progress). */
    wanted: boolean('wanted').notNull().default(false),
    /** The incident it is a member of, of the six kinds that exclude each other; it counts while that is open. */
    incidentId: bigint('incident_id', { mode: 'number' }),
    /** A duplicate of it was reported. */
    doubled: boolean('doubled').notNull().default(false),
    /** An unknown one that a person said to run. */
    confirmed: boolean('confirmed').notNull().default(false),
    /** The kinds of incidents it has counted for, one bit each (core/threshold.ts). */
    counted: smallint('counted').notNull().default(0),
    /** The upstream job it waits for, and which of its occurrences. */
    blockedOn: bigint('blocked_on', { mode: 'number' }),
    blockedFor: instant('blocked_for'),
    /** The next instant at which the clock alone changes it. */
    checkAt: instant('check_at'),
    note: text('note'),
  },
  (t) => [
    primaryKey({ columns: [t.jobId, t.scheduledFor] }),
    check('whole_seconds', sql`date_trunc('second', ${t.scheduledFor}) = ${t.scheduledFor}`),
    index('occurrences_check').on(t.jobId, t.checkAt, t.scheduledFor).where(sql`${t.checkAt} is not null`),
    index('occurrences_wanted').on(t.jobId, t.scheduledFor).where(sql`${t.wanted}`),
    index('occurrences_uncovered')
      .on(t.jobId, t.scheduledFor)
      .where(sql`${t.coveredBy} is null and ${t.state} in ('coalesced', 'failed', 'missed', 'unknown')`),
    index('occurrences_unconfirmed')
      .on(t.jobId, t.scheduledFor)
      .where(sql`${t.state} = 'unknown' and not ${t.confirmed}`),
    index('occurrences_counted').on(t.jobId, t.scheduledFor).where(sql`${t.counted} <> 0`),
    index('occurrences_blocked').on(t.jobId, t.scheduledFor).where(sql`${t.blockedOn} is not null`),
    index('occurrences_open').on(t.jobId, t.scheduledFor).where(sql`${t.state} in ('expected', 'running', 'overdue')`),
    index('occurrences_settled')
      .on(t.jobId, t.scheduledFor)
      .where(sql`${t.state} in ('on_time', 'late', 'expired', 'failed', 'missed', 'coalesced')`),
    index('occurrences_well').on(t.jobId, t.scheduledFor).where(sql`${t.state} in ('on_time', 'late')`),
  ],
);

export const runs = pgTable(
  'runs',
  {
    id: id(),
    jobId: jobId(),
    /** rid:<uuid>, or src:<hash of address and User-Agent> for a run without run id. */
    thread: text('thread').notNull(),
    rid: uuid('rid'),
    scheduledFor: instant('scheduled_for'),
    startedAt: instant('started_at'),
    /** The next unnamed start of the same source (rule 8 of docs/ledger.md). */
    supersededAt: instant('superseded_at'),
    endedAt: instant('ended_at'),
    verdict: text('verdict', { enum: ['success', 'fail'] }),
    exitCode: smallint('exit_code'),
    durationMs: bigint('duration_ms', { mode: 'number' }),
    /** Arrival of its last counted ping. */
    heardAt: instant('heard_at').notNull(),
  },
  (t) => [
    index('runs_thread').on(t.jobId, t.thread, t.id),
    index('runs_occurrence').on(t.jobId, t.scheduledFor),
    index('runs_open').on(t.jobId, t.startedAt).where(sql`${t.endedAt} is null`),
  ],
);

/** One occurrence handed to one runner; live until `lease_until`, while its run has not ended. */
export const claims = pgTable(
  'claims',
  {
    id: id(),
    jobId: jobId(),
    scheduledFor: instant('scheduled_for').notNull(),
    rid: uuid('rid').notNull(),
    runId: bigint('run_id', { mode: 'number' })
      .notNull()
      .references(() => runs.id, { onDelete: 'cascade' }),
    claimedAt: instant('claimed_at').notNull(),
    leaseUntil: instant('lease_until').notNull(),
    /** Given back by its runner, or taken over (overlap: replace). */
    endedAt: instant('ended_at'),
    outcome: text('outcome', { enum: ['released', 'replaced'] }),
  },
  (t) => [unique('claims_rid').on(t.jobId, t.rid), index('claims_run').on(t.runId)],
);

/** Every request that named an existing job: evidence, never changed but to say how it was applied. */
export const pings = pgTable(
  'pings',
  {
    id: id(),
    jobId: jobId(),
    kind: text('kind', { enum: ['start', 'success', 'fail', 'log'] }).notNull(),
    exitCode: integer('exit_code'),
    rid: text('rid'),
    thread: text('thread').notNull(),
    /** Kind, exit code, occ, at and (unnamed) body, hashed: equal means a retry may be. */
    fingerprint: text('fingerprint').notNull(),
    receivedAt: instant('received_at').notNull(),
    at: instant('at').notNull(),
    ownAt: instant('own_at'),
    occ: text('occ'),
    scheduledFor: instant('scheduled_for'),
    matchedBy: text('matched_by').notNull(),
    counted: boolean('counted').notNull(),
    runId: bigint('run_id', { mode: 'number' }),
    durationMs: bigint('duration_ms', { mode: 'number' }),
    source: text('source'),
    userAgent: text('user_agent'),
    method: text('method').notNull(),
    notes: jsonb('notes').notNull().default([]),
    body: bytes('body'),
    bodyBytes: integer('body_bytes').notNull().default(0),
    truncated: boolean('truncated').notNull().default(false),
  },
  (t) => [
    index('pings_job').on(t.jobId, t.id),
    index('pings_thread').on(t.jobId, t.thread, t.id).where(sql`${t.counted}`),
    index('pings_deferred').on(t.jobId, t.id).where(sql`${t.matchedBy} = 'deferred'`),
  ],
);

export const incidents = pgTable(
  'incidents',
  {
    id: id(),
    jobId: jobId(),
    kind: text('kind').notNull(),
    openedAt: instant('opened_at').notNull(),
    ackedAt: instant('acked_at'),
    ackedBy: text('acked_by'),
    snoozedUntil: instant('snoozed_until'),
    snoozedBy: text('snoozed_by'),
    resolvedAt: instant('resolved_at'),
    /** It ended without a message (paused, or its occurrences moved to another incident). */
    silent: boolean('silent').notNull().default(false),
    events: integer('events').notNull(),
    lastTold: instant('last_told'),
    /** `unscheduled`: the last off-schedule run; `duplicate`: the newest occurrence in it. */
    lastRunAt: instant('last_run_at'),
    occurrenceCount: integer('occurrence_count').notNull(),
    troubledCount: integer('troubled_count').notNull(),
    detail: text('detail'),
  },
  (t) => [
    uniqueIndex('incidents_open').on(t.jobId, t.kind).where(sql`${t.resolvedAt} is null`),
    index('incidents_job').on(t.jobId, t.id),
  ],
);

/** `moved`: it left for another incident. */
export const incidentOccurrences = pgTable(
  'incident_occurrences',
  {
    incidentId: bigint('incident_id', { mode: 'number' })
      .notNull()
      .references(() => incidents.id, { onDelete: 'cascade' }),
    scheduledFor: instant('scheduled_for').notNull(),
    moved: boolean('moved').notNull().default(false),
  },
  (t) => [primaryKey({ columns: [t.incidentId, t.scheduledFor] })],
);

export const channels = pgTable(
  'channels',
  {
    id: id(),
    projectId: projectId(),
    slug: text('slug').notNull(),
    kind: text('kind').notNull(),
    /** The fields of its kind, as parsed by notify/registry.ts; secret ones are never read back. */
    settings: jsonb('settings').notNull(),
    operator: boolean('operator').notNull().default(false),
    /** An open incident is told again after so many seconds; null: never. */
    remindEvery: integer('remind_every'),
    /** It also gets incidents of these kinds (null: all) of jobs with one of these tags (null: any); both null: no rule. */
    routeKinds: text('route_kinds').array(),
    routeTags: text('route_tags').array(),
    createdAt: instant('created_at').notNull(),
    /** Since when nothing gets through, and the last reason. */
    deadSince: instant('dead_since'),
    lastFailure: text('last_failure'),
  },
  (t) => [unique('channels_project_slug').on(t.projectId, t.slug)],
);

/**
 * A maintenance window or calendar, one row per revision: what was known from `known_from` until `known_until` decides
 * what was skipped by then, however late a job is judged.
 */
export const maintenanceWindows = pgTable(
  'maintenance_windows',
  {
    id: id(),
    projectId: projectId(),
    slug: text('slug').notNull(),
    /** Maintenance of core/maintenance.ts, as stored. */
    definition: jsonb('definition').notNull(),
    actor: text('actor').notNull(),
    knownFrom: instant('known_from').notNull(),
    knownUntil: instant('known_until'),
    /** A calendar from a URL: when it was last read, and why not. */
    fetchedAt: instant('fetched_at'),
    fetchFailure: text('fetch_failure'),
  },
  (t) => [
    uniqueIndex('maintenance_current').on(t.projectId, t.slug).where(sql`${t.knownUntil} is null`),
    index('maintenance_project').on(t.projectId, t.knownFrom),
  ],
);

/** Emails about a week or a month of a project. */
export const reports = pgTable(
  'reports',
  {
    id: id(),
    projectId: projectId(),
    slug: text('slug').notNull(),
    definition: jsonb('definition').notNull(),
    createdAt: instant('created_at').notNull(),
    /** The end of the last period that was reported. */
    sentUntil: instant('sent_until').notNull(),
  },
  (t) => [unique('reports_project_slug').on(t.projectId, t.slug)],
);

/** What is not about one incident: blind windows (unknown), Rollcall itself (operator), a week or month (report). */
export const notices = pgTable('notices', {
  id: id(),
  kind: text('kind', { enum: ['unknown', 'operator', 'report'] }).notNull(),
  /** What it is about, so that two replicas or two jobs make one: `blind:<window end>:<instant>`, `lag:<instant>`, … */
  subject: text('subject').notNull().unique(),
  text: text('text').notNull(),
  at: instant('at').notNull(),
});

/** The occurrences an `unknown` notice is about. */
export const noticeOccurrences = pgTable(
  'notice_occurrences',
  {
    noticeId: bigint('notice_id', { mode: 'number' })
      .notNull()
      .references(() => notices.id, { onDelete: 'cascade' }),
    jobId: jobId(),
    scheduledFor: instant('scheduled_for').notNull(),
  },
  (t) => [primaryKey({ columns: [t.noticeId, t.jobId, t.scheduledFor] })],
);

/** The promise to tell: one row per (incident, event, channel) or (notice, channel). */
export const outbox = pgTable(
  'outbox',
  {
    id: id(),
    channelId: bigint('channel_id', { mode: 'number' })
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    incidentId: bigint('incident_id', { mode: 'number' }).references(() => incidents.id, { onDelete: 'cascade' }),
    event: integer('event'),
    noticeId: bigint('notice_id', { mode: 'number' }).references(() => notices.id, { onDelete: 'cascade' }),
    /** IncidentMessage or NoticeMessage of core/message.ts, as it was when it happened. */
    payload: jsonb('payload').notNull(),
    createdAt: instant('created_at').notNull(),
    state: text('state', { enum: ['waiting', 'delivered', 'rejected', 'withheld', 'expired'] })
      .notNull()
      .default('waiting'),
    reason: text('reason'),
    attempts: integer('attempts').notNull().default(0),
    /** Not to be tried before. */
    notBefore: instant('not_before').notNull(),
    /** Who has it, and until when (database clock). */
    lease: uuid('lease'),
    leaseUntil: instant('lease_until'),
    /** The id inside the message: equal for every attempt and every row sent in one message. */
    messageId: text('message_id'),
    deliveredAt: instant('delivered_at'),
    /** What the channel's kind keeps of the delivered message: later ones about the incident are replies to it. */
    receipt: text('receipt'),
  },
  (t) => [
    unique('outbox_incident').on(t.incidentId, t.event, t.channelId),
    unique('outbox_notice').on(t.noticeId, t.channelId),
    index('outbox_message').on(t.channelId, t.messageId),
    index('outbox_waiting').on(t.channelId, t.id).where(sql`${t.state} = 'waiting'`),
  ],
);

/** Every attempt to send, kept. */
export const attempts = pgTable(
  'attempts',
  {
    id: id(),
    channelId: bigint('channel_id', { mode: 'number' })
      .notNull()
      .references(() => channels.id, { onDelete: 'cascade' }),
    messageId: text('message_id').notNull(),
    at: instant('at').notNull(),
    outcome: text('outcome', { enum: ['delivered', 'retry', 'rejected'] }).notNull(),
    reason: text('reason'),
    rows: integer('rows').notNull(),
  },
  (t) => [index('attempts_channel').on(t.channelId, t.id)],
);

/**
 * An ingest replica's sign of life at `at`: everything that reached it up to `through` is in the ledger. One ping that waits
 * for a locked job keeps `through` back, and nobody is blind because of it.
 */
export const beats = pgTable('beats', {
  replica: uuid('replica').primaryKey(),
  through: instant('through').notNull(),
  at: instant('at').notNull(),
});

/**
 * Database time in which what was heard cannot be trusted: over 30 s without a beat, skipped or repeated by the clock
 * (blind), or 3 to 30 s without a beat (gap). Unique on its beginning: two replicas record it once.
 */
export const blindWindows = pgTable('blind_windows', {
  after: instant('after').primaryKey(),
  until: instant('until').notNull(),
  kind: text('kind', { enum: ['blind', 'gap'] }).notNull(),
  cause: text('cause', { enum: ['silent', 'skipped', 'repeated'] })
    .notNull()
    .default('silent'),
});

/** Small facts of the installation: tz version last used, first run, … */
export const facts = pgTable('facts', { name: text('name').primaryKey(), value: text('value').notNull() });

/** Who changed what: PATCH of an occurrence, pause, edit, delete. */
export const audit = pgTable(
  'audit',
  {
    id: id(),
    projectId: projectId(),
    at: instant('at').notNull(),
    actor: text('actor').notNull(),
    action: text('action').notNull(),
    subject: text('subject').notNull(),
    detail: jsonb('detail').notNull().default({}),
  },
  (t) => [index('audit_project').on(t.projectId, t.id)],
);
