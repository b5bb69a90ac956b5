import { parsed, refused } from '../../src/core/time.ts';
import { type ZoneTable, zoneOf } from '../../src/core/zone.ts';
import { createCatchUp } from '../../src/engine/catch-up.ts';
import { createChanges } from '../../src/engine/changes.ts';
import { createClaims } from '../../src/engine/claims.ts';
import { createEvaluator } from '../../src/engine/evaluator.ts';
import { createIngest, type IncomingPing } from '../../src/engine/ingest.ts';
import { createMaintenance } from '../../src/engine/maintenance.ts';
import { createTzChange } from '../../src/engine/tz-change.ts';
import { createVersionCache } from '../../src/engine/working-set.ts';
import { createLog } from '../../src/log.ts';
import { createFetchText } from '../../src/notify/calendar-feed.ts';
import type { Database } from '../../src/store/database.ts';
import { createVitals } from '../../src/vitals.ts';
import { createApi } from '../../src/web/api/index.ts';
import { loadZones, type Zones } from '../../src/zones.ts';
import { KEY } from '../web/api/api.ts';

const HOUR = 3600;
const UNTIL_YEAR = 2045;

/** Day of month of the n-th Sunday. */
const sunday = (year: number, month: number, n: number): number =>
  1 + ((7 - new Date(Date.UTC(year, month, 1)).getUTCDay()) % 7) + (n - 1) * 7;

/** Vancouver with summer time by the rule of 2007 up to `lastYear`, whose March is the last change. */
function vancouver(lastYear: number): ZoneTable {
  const transitions: number[] = [];
  for (let year = 2020; year <= lastYear; year += 1) {
    transitions.push(Date.UTC(year, 2, sunday(year, 2, 2), 10));
    if (year < lastYear) transitions.push(Date.UTC(year, 10, sunday(year, 10, 1), 9));
  }
  const offsets = [-8 * HOUR, ...transitions.map((_, i) => (i % 2 === 0 ? -7 : -8) * HOUR)];
  return { name: 'America/Vancouver', transitions, offsets, cycle: 0 };
}

const fixed = (name: string, hours: number): ZoneTable => ({
  name,
  transitions: [],
  offsets: [hours * HOUR],
  cycle: 0,
});

/** Zones of a tz version made by hand; what is not among `tables` is as this machine has it, but for `without`. */
function zonesOf(version: string, tables: readonly ZoneTable[], without: readonly string[] = []): Zones {
  const machine = loadZones();
  const own = new Map(tables.map((table) => [table.name, { table, zone: zoneOf(table) }]));
  return {
    version,
    source: 'os',
    get(name) {
      if (without.includes(name)) return refused(`unknown time zone "${name}"`);
      const made = own.get(name);
      return made ? parsed(made.zone) : machine.get(name);
    },
    table: (name) => (without.includes(name) ? null : (own.get(name)?.table ?? machine.table(name))),
  };
}

const FAR = fixed('Test/Far', 5);
/** On the last of October the clocks go from five to six hours ahead. */
const MENDED: ZoneTable = {
  name: 'Test/Mended',
  transitions: [Date.UTC(2026, 9, 31)],
  offsets: [5 * HOUR, 6 * HOUR],
  cycle: 0,
};

/** The law of 2025: summer time goes on; Test/Far is five hours ahead. */
export const LAW_2025 = zonesOf('2025c', [vancouver(UNTIL_YEAR), FAR, MENDED]);
/** The law of 2026: no change after 2026-03-08; Test/Far is no more; Test/Mended has always been six hours ahead. */
export const LAW_2026 = zonesOf('2026a', [vancouver(2026), fixed('Test/Mended', 6)], ['Test/Far']);

export type Replica = ReturnType<typeof replicaOver>;

/** One process over the database, with tz data of its own. */
export function replicaOver(database: Database, zones: Zones) {
  const clock = { monotonic: () => 0, sleep: () => Promise.resolve() };
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', { destination: { write: (line: string) => void lines.push(JSON.parse(line)) } });
  const versions = createVersionCache(zones);
  const vitals = createVitals(clock.monotonic);
  const deps = { database, zones, clock, log, versions, settleMs: 600_000, vitals };
  const ingest = createIngest(deps);
  const evaluator = createEvaluator(deps);
  const publicUrl = 'https://rollcall.example.org';
  const channelContext = { publicUrl, outboundAllow: ['127.0.0.0/8'], smtpUrl: null, mailFrom: null, zones };
  const catchUp = createCatchUp(deps);
  const api = createApi({
    database,
    zones,
    changes: createChanges(deps),
    claims: createClaims(deps),
    catchUp,
    maintenance: createMaintenance({ ...deps, catchUp, fetchText: createFetchText(channelContext) }),
    publicUrl,
    channelContext,
    log,
  });
  return {
    lines,
    pass: createTzChange(deps).pass,
    tick: () => evaluator.tick(),
    /** The key and the rule by which a ping that arrives now was matched. */
    async ping(slug: string, kind: IncomingPing['kind'], more: Partial<IncomingPing> = {}) {
      const [job] = await database.transaction((tx) => tx.sql`select uuid from jobs where slug = ${slug}`);
      const answer = await ingest.submit({ ...PING, target: { uuid: String(job?.['uuid']) }, kind, ...more });
      return answer.outcome === 'accepted' ? `${answer.matchedBy} ${answer.key}` : JSON.stringify(answer);
    },
    // biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape
    async call(method: string, path: string, body?: unknown): Promise<any> {
      const response = await api.request(path, {
        method,
        headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const json = await response.json();
      if (response.status >= 400) throw new Error(JSON.stringify(json));
      return json;
    },
  };
}

const PING: Omit<IncomingPing, 'target' | 'kind'> = {
  exitCode: null,
  rid: null,
  occ: null,
  at: null,
  dur: null,
  flaw: null,
  body: new Uint8Array(),
  bodyBytes: 0,
  truncated: false,
  source: '192.0.2.1',
  userAgent: 'test',
  method: 'GET',
  arrivedMs: 0,
};
