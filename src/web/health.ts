import { type Context, Hono } from 'hono';
import type { Clock } from '../clock.ts';
import { formatInstant, type Instant } from '../core/time.ts';
import type { SharedHealth } from '../store/health.ts';
import type { VitalSigns, Vitals } from '../vitals.ts';

export type Role = 'web' | 'evaluator' | 'notifier';

export type HealthDeps = {
  readonly vitals: Pick<Vitals, 'read'>;
  readonly clock: Clock;
  readonly tzVersion: string;
  /** What this process does; the rest is looked up in the database. */
  readonly roles: ReadonlySet<Role>;
  readonly readShared: () => Promise<SharedHealth>;
};

type Check = { readonly name: string; readonly ok: boolean; readonly detail: string };
export type Health = {
  readonly status: 'ok' | 'failing';
  readonly tz_version: string;
  readonly checks: readonly Check[];
};

/** Beats come twice a second: this long without one, and a ping would wait. */
const BEAT_MS = 3000;
const TICK_MS = 10_000;
const HORIZON_MS = 30_000;
const SHARED_MS = 1000;
const NOTES_MS = 60_000;
const NOTES_WAIT_MS = 300;

/** The checks that can turn it red; all others only tell something. */
const VITAL: ReadonlySet<string> = new Set(['ingest', 'evaluator', 'horizon']);
export const isVital = ({ name }: { readonly name: string }): boolean => VITAL.has(name);

/** Reads how Rollcall itself is. Cheap: memory first, and the database at most once a second. */
export type ReadHealth = () => Promise<Health>;

/**
 * Red when a ping would not be committed now, no evaluator has ticked within 10 s, or the horizon lags 30 s. Everything
 * else is told and turns nothing red: a restart cures no dead channel.
 */
export function createHealth(deps: HealthDeps): ReadHealth {
  const readShared = sharedReader(deps);
  return async () => {
    const isWhole = deps.roles.has('evaluator');
    const shared = await readShared(!isWhole);
    const signs = deps.vitals.read();
    const now = deps.clock.monotonic();
    const vital = [
      ...(deps.roles.has('web') ? [ingestCheck(signs, now)] : []),
      ...(isWhole ? localEvaluatorChecks(signs, now) : sharedEvaluatorChecks(shared, now)),
    ];
    const status = vital.every(({ ok }) => ok) ? 'ok' : 'failing';
    return { status, tz_version: deps.tzVersion, checks: [...vital, ...notes(signs, shared, deps.tzVersion)] };
  };
}

/** GET /healthz: 200 or 503, without a key. */
export function healthPage(readHealth: ReadHealth): Hono {
  return new Hono().get('/healthz', async (c: Context) => {
    const health = await readHealth();
    return c.json(health, health.status === 'ok' ? 200 : 503, { 'Cache-Control': 'no-store' });
  });
}

/** `since`: a reading of the monotonic clock. */
type Shared = { readonly since: number; readonly value: SharedHealth } | null;

/**
 * The last answer of the database, asked again after a second. Where the verdict hangs on it, it is waited for; else only
 * when there is none of the last minute, and hardly: a health page that hangs says nothing.
 */
function sharedReader({ readShared, clock }: HealthDeps): (isNeeded: boolean) => Promise<Shared> {
  let last: Shared = null;
  let askedAt = Number.NEGATIVE_INFINITY;
  let asking: Promise<void> = Promise.resolve();
  return async (isNeeded) => {
    if (clock.monotonic() - askedAt >= SHARED_MS) {
      askedAt = clock.monotonic();
      asking = readShared().then(
        (value) => {
          last = { since: clock.monotonic(), value };
        },
        // It stays as old as it is, and its age shows.
        () => undefined,
      );
    }
    const isOld = last === null || clock.monotonic() - last.since > NOTES_MS;
    if (isNeeded || isOld) await Promise.race([asking, clock.sleep(isNeeded ? SHARED_MS : NOTES_WAIT_MS)]);
    return last;
  };
}

function ingestCheck({ lastBeatAt, ingestFailure }: VitalSigns, now: number): Check {
  const name = 'ingest';
  if (ingestFailure !== null) return { name, ok: false, detail: `pings cannot be committed: ${ingestFailure}` };
  if (lastBeatAt === null) return { name, ok: false, detail: 'nothing has been committed yet' };
  return { name, ok: now - lastBeatAt <= BEAT_MS, detail: `last commit ${seconds(now - lastBeatAt)} ago` };
}

function localEvaluatorChecks({ lastTickAt, horizonLagMs }: VitalSigns, now: number): Check[] {
  const isKnown = horizonLagMs !== null && Number.isFinite(horizonLagMs);
  return evaluatorChecks(lastTickAt === null ? null : now - lastTickAt, isKnown ? horizonLagMs : null);
}

function sharedEvaluatorChecks(shared: Shared, now: number): Check[] {
  if (shared === null) return evaluatorChecks(null, null);
  const { value } = shared;
  const age = now - shared.since;
  const since = (at: number | null): number | null => (at === null ? null : value.now - at + age);
  return evaluatorChecks(since(value.evaluatorTickAt), since(value.horizon));
}

function evaluatorChecks(sinceTickMs: number | null, horizonLagMs: number | null): Check[] {
  return [
    {
      name: 'evaluator',
      ok: sinceTickMs !== null && sinceTickMs <= TICK_MS,
      detail: sinceTickMs === null ? 'no tick seen yet' : `last tick ${seconds(sinceTickMs)} ago`,
    },
    {
      name: 'horizon',
      ok: horizonLagMs !== null && horizonLagMs < HORIZON_MS,
      detail: horizonLagMs === null ? 'not known: no beat within 10 s' : `lags ${seconds(horizonLagMs)}`,
    },
  ];
}

/** What a person wants to know besides. */
function notes({ clockOffsetMs }: VitalSigns, shared: Shared, tzVersion: string): Check[] {
  const checks: Check[] = [];
  if (clockOffsetMs !== null) {
    const detail = `this machine's clock is ${seconds(Math.abs(clockOffsetMs))} ${clockOffsetMs < 0 ? 'behind' : 'ahead of'} the database's; it is used for nothing`;
    checks.push({ name: 'clock', ok: Math.abs(clockOffsetMs) < 5000, detail });
  }
  if (shared === null) return checks;
  const { lastBlind, deadChannels, outboxWaiting } = shared.value;
  const blind = lastBlind && `${formatInstant(lastBlind.after)} to ${formatInstant(lastBlind.until)}`;
  checks.push(
    databaseClockCheck(shared.value),
    {
      name: 'blind_windows',
      ok: lastBlind === null,
      detail: blind ? `last: ${blind} (${lastBlind.cause})` : 'none in the last 24 h',
    },
    { name: 'channels', ok: deadChannels === 0, detail: deadChannels === 0 ? 'none dead' : `${deadChannels} dead` },
    { name: 'outbox', ok: true, detail: `${outboxWaiting} waiting` },
    tzCheck(tzVersion, shared.value.now),
  );
  return checks;
}

/** The one clock by which everything is judged: in doubt (then the horizon is red), or what it did in the last 24 h. */
function databaseClockCheck({ clockDoubt, clockEvent }: SharedHealth): Check {
  const name = 'database_clock';
  if (clockDoubt !== null) return { name, ok: false, detail: clockDoubt };
  if (clockEvent === null) return { name, ok: true, detail: 'no jump in the last 24 h' };
  return { name, ok: false, detail: `${formatInstant(clockEvent.at)}: ${clockEvent.what}` };
}

/** The first release of a year is out by spring; laws change faster than containers. */
const TZ_OLD_MS = 120 * 86_400_000;

function tzCheck(version: string, now: Instant): Check {
  const isOld = Number(version.slice(0, 4)) < new Date(now - TZ_OLD_MS).getUTCFullYear();
  const detail = isOld ? `${version} is of an earlier year: update tzdata, or Node` : version;
  return { name: 'tz', ok: !isOld, detail };
}

function seconds(ms: number): string {
  return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
}
