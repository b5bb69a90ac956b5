import { createHash } from 'node:crypto';
import { advance } from '../../src/core/advance.ts';
import { type Applied, applyPing } from '../../src/core/apply.ts';
import { heartbeatPeriod } from '../../src/core/definition.ts';
import { anchorHeartbeat } from '../../src/core/heartbeat.ts';
import { nextDue } from '../../src/core/instants.ts';
import { parseKey } from '../../src/core/key.ts';
import { type Ledger, nothingDone, type Row } from '../../src/core/ledger.ts';
import { timetable } from '../../src/core/schedule.ts';
import { loadZones } from '../../src/zones.ts';
import type { HistorySettings, Input } from '../support/history.ts';
import { at } from '../support/story.ts';

const zones = loadZones();

type Known = Partial<
  Pick<Ledger, 'maintenance' | 'upstream' | 'wells' | 'silences' | 'now' | 'loadedUntil' | 'knownUntil'>
>;

/**
 * The ledger of a job in UTC, made at `created` (instants are written as in stories), all of it loaded: for what the view
 * of a history does not show, and for what other jobs, windows and the store tell it (`known`).
 */
export function bareLedger(created: string, settings: HistorySettings, known: Known = {}): Ledger {
  const zone = zones.get('UTC');
  if (!zone.ok) throw new Error(zone.reason);
  const period = heartbeatPeriod(settings.schedules);
  const version = {
    number: 1,
    zone: zone.value,
    startsAfter: at(created),
    endsAt: null,
    timetable: period === null ? timetable(settings.schedules, zone.value) : null,
    periodMs: period === null ? null : period * 1000,
  };
  const ledger: Ledger = {
    settings,
    versions: [version],
    pausedAt: null,
    pauses: [],
    silences: [],
    settleMs: 600_000,
    nextUnrecorded: null,
    constantRid: false,
    decidedUntil: null,
    backlog: 0,
    lastHandOut: null,
    claims: [],
    loadedUntil: Number.POSITIVE_INFINITY,
    knownUntil: Number.POSITIVE_INFINITY,
    rows: new Map(),
    runs: [],
    threads: new Map(),
    incidents: new Map(),
    wells: [],
    now: at(created),
    maintenance: () => null,
    upstream: () => [],
    ...nothingDone(),
    ...known,
  };
  if (period === null) ledger.nextUnrecorded = nextDue(ledger, at(created));
  else anchorHeartbeat(ledger, at(created));
  return ledger;
}

export function advanceTo(ledger: Ledger, when: string): void {
  if (!advance(ledger, at(when), 10_000)) throw new Error(`${when} was not reached`);
}

/** A ping of a story, by `start`, `success`, `fail` or `log`; how long its run took, where it says so. */
export function take(ledger: Ledger, input: Input, durationMs: number | null = null): Applied {
  if (input.type !== 'ping') throw new Error(`not a ping: ${input.type}`);
  if (!advance(ledger, input.at, 10_000)) throw new Error('not reached');
  const key = input.occ === null ? null : parseKey(input.occ);
  if (key && !key.ok) throw new Error(key.reason);
  const { kind, exitCode, ownAt, rid, source, body, occ } = input;
  const said = JSON.stringify([kind, exitCode, occ, ownAt, rid === null ? body : '']);
  return applyPing(ledger, {
    kind,
    exitCode,
    arrival: input.at,
    at: ownAt ?? input.at,
    ownAt,
    rid,
    thread: rid === null ? `src:${source}` : `rid:${rid}`,
    key: key?.value ?? null,
    fingerprint: createHash('sha256').update(said).digest('hex'),
    durationMs,
  });
}

export function rowOf(ledger: Ledger, due: string): Row {
  const row = ledger.rows.get(at(due));
  if (!row) throw new Error(`no row for ${due}`);
  return row;
}
