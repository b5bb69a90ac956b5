import { parsed, type Result, refused } from '../core/time.ts';
import { UTC_TABLE, type Zone, zoneOf } from '../core/zone.ts';
import type { Tx } from './database.ts';
import { readTables, type TableName } from './zone-tables.ts';

/** Where zones are found by name: those of this process, from one version of the tz database. */
export type ZoneSource = { readonly version: string; get(name: string): Result<Zone> };

/** The zone that a schedule version is read by, or why there is none. */
export type ZoneOfVersion = (version: TableName) => Result<Zone>;

export type VersionZones = {
  /** Loads what these versions need; the answer is for them. One table is one Zone, however often it is asked for. */
  read(tx: Tx, versions: readonly TableName[]): Promise<ZoneOfVersion>;
};

/**
 * A schedule version is read by the table of its own tz version, so that replicas with different tz data agree and what
 * was due stays where it was. That is this process's own for its own tz version, else the one that was kept; where none
 * was (installations from before, or a zone this process lacks), whichever of the two there is.
 */
export function createVersionZones(zones: ZoneSource): VersionZones {
  const kept = new Map<string, Result<Zone>>();
  const nameOf = ({ tzVersion, zone }: TableName): string => `${tzVersion} ${zone}`;
  const isOwn = ({ tzVersion, zone }: TableName): boolean =>
    zone === 'UTC' || (tzVersion === zones.version && zones.get(zone).ok);
  return {
    async read(tx, versions) {
      const missing = versions.filter((version) => !isOwn(version) && !kept.has(nameOf(version)));
      const names = [...new Map(missing.map((version) => [nameOf(version), version])).values()];
      for (const { table, ...name } of await readTables(tx, names)) kept.set(nameOf(name), zoneOfTable(table));
      return (version) =>
        isOwn(version) ? zones.get(version.zone) : (kept.get(nameOf(version)) ?? zones.get(version.zone));
    },
  };
}

/**
 * The zones that the keys of these versions are written in, so that no replica and no new tz data respell them. Of one that
 * is nowhere to be found, UTC: it must not keep a ledger from being read.
 */
export async function readKeyZones(
  tx: Tx,
  zones: ZoneSource,
  versions: readonly TableName[],
): Promise<(version: TableName) => Zone> {
  const zoneOfVersion = await createVersionZones(zones).read(tx, versions);
  return (version) => orUtc(zoneOfVersion(version));
}

/** The zone, or UTC where there is none. */
export const orUtc = (zone: Result<Zone>): Zone => (zone.ok ? zone.value : zoneOf(UTC_TABLE));

function zoneOfTable(table: Parameters<typeof zoneOf>[0]): Result<Zone> {
  try {
    return parsed(zoneOf(table));
  } catch (error) {
    return refused(`its kept table cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
