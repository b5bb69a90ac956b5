import type { Clock } from '../../src/clock.ts';
import type { JobDefinition } from '../../src/core/definition.ts';
import { formatInstant, type Instant } from '../../src/core/time.ts';
import { createCatchUp } from '../../src/engine/catch-up.ts';
import { createChanges } from '../../src/engine/changes.ts';
import { type ClaimAnswer, createClaims } from '../../src/engine/claims.ts';
import { createEvaluator } from '../../src/engine/evaluator.ts';
import { createIngest, type IncomingPing } from '../../src/engine/ingest.ts';
import { createMaintenance } from '../../src/engine/maintenance.ts';
import { createVersionCache } from '../../src/engine/working-set.ts';
import { createLog } from '../../src/log.ts';
import { beat } from '../../src/store/beats.ts';
import { upsertChannel } from '../../src/store/channels.ts';
import { connect, type Tx } from '../../src/store/database.ts';
import { projects } from '../../src/store/schema.ts';
import { createVitals } from '../../src/vitals.ts';
import type { Zones } from '../../src/zones.ts';
import { createTestDatabase, manualClock } from './database.ts';
import {
  type Answer,
  answer,
  type History,
  type HistorySettings,
  type Input,
  type MaintenanceWindow,
} from './history.ts';

/** A job of the service and what happens to it; `channels` as in its definition. */
export type PlayedJob = {
  readonly slug: string;
  readonly history: History;
  readonly channels: readonly string[] | null;
};

export type Service = Awaited<ReturnType<typeof startService>>;

type PingInput = Extract<Input, { type: 'ping' }>;
type ClaimInput = Extract<Input, { type: 'claim' | 'extend' | 'release' | 'decide' }>;

/** The beats of replicas that hear everything, whose pings the two of this test take. */
const BEATS = ['00000000-0000-4000-8000-0000000000b1', '00000000-0000-4000-8000-0000000000b2'];

/** Monotonic time stands still: a ping's instant is the manual clock's. A retry goes on as soon as others had a turn. */
const standingClock: Clock = {
  monotonic: () => 0,
  sleep: () => new Promise((resolve) => setImmediate(resolve)),
};

/** The whole engine, twice, over one real database on a manual clock: two ingests and two evaluators, a pool each. */
export async function startService(zones: Zones, { settleMs, start }: { settleMs: number; start: Instant }) {
  const clock = manualClock(start);
  const db = await createTestDatabase({ now: clock.now });
  const pools = [connect(db.url, { now: clock.now, max: 5 }), connect(db.url, { now: clock.now, max: 5 })];
  const failures: string[] = [];
  const log = createLog('error', { destination: { write: (line) => void failures.push(line) } });
  const replicas = pools.map((database) => {
    const vitals = createVitals(standingClock.monotonic);
    const deps = { database, clock: standingClock, versions: createVersionCache(zones), zones, settleMs, vitals, log };
    const work = { changes: createChanges(deps), claims: createClaims(deps) };
    const fetchText = () => Promise.reject(new Error('no calendar here has an address'));
    const maintenance = createMaintenance({ ...deps, catchUp: createCatchUp(deps), fetchText });
    return { ingest: createIngest(deps), evaluator: createEvaluator(deps), ...work, maintenance, deps };
  });
  const [first, second] = replicas;
  if (!first || !second) throw new Error('two replicas');
  const run = <T>(work: (tx: Tx) => Promise<T>) => db.database.transaction(work, { deadlineMs: 60_000 });
  const projectId = await run(async (tx) => {
    const [project] = await tx.db
      .insert(projects)
      .values({ slug: 'year', name: 'Year', createdAt: tx.now })
      .returning({ id: projects.id });
    const id = project?.id ?? 0;
    for (const slug of ['ops', 'team']) {
      const settings = { url: `https://example.org/${slug}`, secret: 'whsec_AAAA' };
      await upsertChannel(tx, { projectId: id, slug, kind: 'webhook', settings, operator: undefined });
    }
    return id;
  });

  const uuids = new Map<string, string>();
  const answers = new Map<string, number>();
  const submit = async (to: typeof first, slug: string, input: PingInput): Promise<void> => {
    const answer = await to.ingest.submit(incomingPing(uuids.get(slug) ?? '', input));
    const word = answer.outcome === 'accepted' ? answer.matchedBy : answer.outcome;
    answers.set(word, (answers.get(word) ?? 0) + 1);
  };
  let wokenAt = Number.NEGATIVE_INFINITY;
  const replicaFor = (n: number) => (n % 2 === 0 ? first : second);

  /** The ids of claims by slug and run id, and what claims of a job were answered. */
  const claimIds = new Map<string, number>();
  const claimAnswers = new Map<string, readonly Answer[]>();
  const said = (slug: string): readonly Answer[] => claimAnswers.get(slug) ?? [];
  const ask = async ({ claims }: typeof first, slug: string, input: ClaimInput): Promise<Answer> => {
    if (input.type === 'decide') {
      const { outcome } = await claims.decide({ projectId, slug, actor: 'test' }, input.decision);
      return answer('decide', outcome);
    }
    const name = `${slug} ${input.rid}`;
    if (input.type === 'claim') {
      const given = await claims.claim({ projectId, slug }, uuidOf(input.rid));
      if (given.outcome === 'given') claimIds.set(name, given.claim.id);
      return claimAnswer(given, input.at);
    }
    const id = claimIds.get(name);
    if (id === undefined) return answer(input.type, 'unknown');
    if (input.type === 'release')
      return answer('release', (await claims.release(projectId, id)) ? 'released' : 'no_claim');
    const extended = await claims.extend(projectId, id);
    if (extended.outcome === 'over') return answer('extend', extended.type);
    if (extended.outcome === 'no_claim') return answer('extend', 'no_claim');
    const { scheduledFor, leaseUntil } = extended.claim;
    return answer('extend', 'extended', { scheduledFor, leaseUntil });
  };

  let puts = 0;
  /** Says that a window is about a job; `jobs` empty: about none any more. */
  const putWindow = async (slug: string, window: MaintenanceWindow, jobs: readonly string[]): Promise<void> => {
    const { name, from, until } = window;
    const definition = { name, reason: '', jobs, tags: null, when: { kind: 'once' as const, from, until } };
    const who = { projectId, slug: windowSlug(slug, name), actor: 'test' };
    const { jobsLeft } = await replicaFor(puts++).maintenance.put(who, () => definition);
    if (jobsLeft > 0) throw new Error(`${slug}: a window is not applied yet`);
  };

  return {
    clock,
    failures,
    /** How many pings were answered how. */
    answers,
    /** What the claims, extensions, releases and decisions of a job were answered, in order. */
    said,
    projectId,
    run,
    deps: first.deps,
    catchUp: createCatchUp(first.deps),

    async create({ slug, history, channels }: PlayedJob): Promise<void> {
      const { maintenance, createdAt } = history;
      for (const window of maintenance) if (window.knownFrom <= createdAt) await putWindow(slug, window, [slug]);
      const definition = definitionOf(slug, history.zone, history.settings, channels);
      await first.changes.putJob(projectId, slug, definition, 'test');
      const [row] = await run((tx) => tx.sql<{ uuid: string }[]>`select uuid from jobs where slug = ${slug}`);
      uuids.set(slug, row?.uuid ?? '');
    },

    /** Takes back what is known no longer. */
    async takeBack({ slug, history }: PlayedJob): Promise<void> {
      const now = clock.now();
      for (const window of history.maintenance) if (window.knownUntil === now) await putWindow(slug, window, []);
    },

    /** Everything that reached the service up to now has been flushed. */
    async beat(): Promise<void> {
      await run(async (tx) => {
        for (const replica of BEATS) await beat(tx, replica, tx.now);
      });
      // One that has beaten for itself must go on, or it holds the horizon for as long as it is heard.
      if (clock.now() - wokenAt <= 10_000) await first.ingest.flush();
    },

    /** The first beat after a silence: it is seen and recorded. */
    async wake(): Promise<void> {
      wokenAt = clock.now();
      await first.ingest.flush();
    },

    /** Both evaluators at once. */
    tick: () => Promise.all(replicas.map(({ evaluator }) => evaluator.tick())),

    /** Inputs of one job at one instant: pings that follow each other come at once, through both ingests. */
    async apply({ slug, history, channels }: PlayedJob, inputs: readonly Input[]): Promise<void> {
      let flying: Promise<unknown>[] = [];
      for (const [i, input] of inputs.entries()) {
        if (input.type === 'ping') {
          const replica = (i + slug.length) % 2 === 0 ? first : second;
          flying.push(submit(replica, slug, input));
          continue;
        }
        await Promise.all(flying);
        flying = [];
        const replica = replicaFor(i + slug.length);
        const { changes } = replica;
        if (input.type === 'edit') {
          await changes.putJob(projectId, slug, definitionOf(slug, history.zone, input.settings, channels), 'test');
        } else if (input.type === 'settle') {
          const { scheduledFor, state } = input;
          await changes.settle(projectId, slug, scheduledFor, { state, note: 'said so' }, 'test');
        } else if (input.type === 'pause' || input.type === 'resume') {
          await changes[input.type === 'pause' ? 'pauseJob' : 'resumeJob'](projectId, slug, 'test');
        } else if (input.type === 'maintenance') {
          const known = history.maintenance.filter(({ knownFrom }) => knownFrom === input.at);
          for (const window of known) await putWindow(slug, window, [slug]);
        } else claimAnswers.set(slug, [...said(slug), await ask(replica, slug, input)]);
      }
      await Promise.all(flying);
    },

    /** Forgets every job, beat and window: another history may begin, at any instant. */
    forget: () => {
      wokenAt = Number.NEGATIVE_INFINITY;
      return run(async (tx) => {
        await tx.sql`delete from jobs`;
        await tx.sql`delete from beats`;
        await tx.sql`delete from blind_windows`;
        await tx.sql`delete from notices`;
        await tx.sql`delete from maintenance_windows`;
        await tx.sql`delete from facts where name like 'maintenance%'`;
      });
    },

    async stop(): Promise<void> {
      for (const pool of pools) await pool.close();
      await db.drop();
    },
  };
}

const windowSlug = (job: string, name: string): string => `${job}-${name.replaceAll(' ', '-')}`;

function definitionOf(
  slug: string,
  zone: string,
  settings: HistorySettings,
  channels: readonly string[] | null,
): JobDefinition {
  return { ...settings, name: slug, description: '', tags: [], zone, missedRunsReason: '', after: [], channels };
}

function claimAnswer(given: ClaimAnswer, at: Instant): Answer {
  if (given.outcome === 'given') {
    const { scheduledFor, leaseUntil } = given.claim;
    return answer('claim', 'given', { scheduledFor, leaseUntil });
  }
  if (given.outcome !== 'refused') return answer('claim', given.outcome);
  const { type, retryAfterMs, past } = given;
  const scheduledFor = past && Date.parse(past.key);
  return answer('claim', type, { scheduledFor, retryAt: retryAfterMs === null ? null : at + retryAfterMs });
}

/** Run ids of histories are short words; the door takes UUIDs only. */
export function uuidOf(rid: string): string {
  return `00000000-0000-4000-8000-${Buffer.from(rid.slice(-6)).toString('hex').padStart(12, '0')}`;
}

function incomingPing(uuid: string, { kind, exitCode, rid, source, body, occ, ownAt }: PingInput): IncomingPing {
  const bytes = new TextEncoder().encode(body);
  return {
    target: { uuid },
    kind,
    exitCode,
    rid: rid === null ? null : uuidOf(rid),
    occ,
    at: ownAt === null ? null : formatInstant(ownAt),
    dur: null,
    flaw: null,
    body: bytes,
    bodyBytes: bytes.length,
    truncated: false,
    source,
    userAgent: 'curl/8',
    method: 'POST',
    arrivedMs: 0,
  };
}

/** When the evaluators look: at these instants, and at each step for which `atStep` says so. */
export type Ticks = { readonly at: readonly Instant[]; readonly atStep: (step: number, now: Instant) => boolean };

/**
 * Plays the histories on one clock, from instant to instant: what arrives at one instant arrives together. All of them
 * share their windows. Ends with the clock at `until` and no tick there.
 */
export async function play(
  service: Service,
  jobs: readonly PlayedJob[],
  {
    windows,
    until,
    ticks,
    onStep,
  }: Pick<History, 'windows' | 'until'> & { ticks: Ticks; onStep?: (now: Instant) => void },
): Promise<void> {
  const { clock } = service;
  const agenda = agendaOf(jobs, windows, until, ticks.at);
  let step = 0;
  for (const now of [...agenda.keys()].sort((a, b) => a - b)) {
    onStep?.(now);
    clock.set(now);
    const inside = windows.some(({ after, until: end }) => after < now && now < end);
    if (windows.some(({ until: end }) => end === now)) await service.wake();
    if (!inside) await service.beat();
    for (const job of jobs) await service.takeBack(job);
    const { created, inputs } = agenda.get(now) ?? { created: [], inputs: new Map<PlayedJob, Input[]>() };
    for (const job of created) await service.create(job);
    const applied = [...inputs].map(([job, list]) => service.apply(job, list));
    const ticking = ticks.at.includes(now) || ticks.atStep(step, now);
    // Half of the time the evaluators race with what arrives.
    if (step % 2 === 0) await Promise.all(applied);
    await Promise.all([...applied, ...(ticking ? [service.tick()] : [])]);
    step += 1;
  }
}

type Agenda = Map<Instant, { readonly created: PlayedJob[]; readonly inputs: Map<PlayedJob, Input[]> }>;

function agendaOf(
  jobs: readonly PlayedJob[],
  windows: History['windows'],
  until: Instant,
  ticks: readonly Instant[],
): Agenda {
  const agenda: Agenda = new Map();
  const at = (instant: Instant) => {
    const known = agenda.get(instant);
    if (known) return known;
    const fresh = { created: [], inputs: new Map<PlayedJob, Input[]>() };
    agenda.set(instant, fresh);
    return fresh;
  };
  for (const instant of [...windows.flatMap(({ after, until: end }) => [after, end]), ...ticks, until]) at(instant);
  for (const { history } of jobs) for (const { knownUntil } of history.maintenance) if (knownUntil) at(knownUntil);
  for (const job of jobs) {
    at(job.history.createdAt).created.push(job);
    for (const input of job.history.inputs) {
      const { inputs } = at(input.at);
      inputs.set(job, [...(inputs.get(job) ?? []), input]);
    }
  }
  return agenda;
}

/** Lets the evaluators look until nothing is due any more. */
export async function settleDown(service: Service, now: Instant): Promise<void> {
  service.clock.set(now);
  await service.beat();
  await service.tick();
  await service.tick();
}
