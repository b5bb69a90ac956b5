import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parsed, type Result, refused } from './core/time.ts';
import { UTC_TABLE, type Zone, type ZoneTable, zoneOf } from './core/zone.ts';
import { readCompiledZone } from './zones-compiled.ts';
import { readNodeZone } from './zones-node.ts';

/** Every time zone of this process, from one version of the tz database. */
export type Zones = {
  /** The tz database version in use, such as `2025c`. */
  readonly version: string;
  readonly source: 'os' | 'node';
  /** The zone of exactly this name, built when first asked for, or a reason with a hint. Never throws. */
  get(name: string): Result<Zone>;
  /** The table that zone is made of, to be kept with what is read by it; null: there is no such zone. */
  table(name: string): ZoneTable | null;
};

/**
 * Chooses the newest of the operating system's compiled tz database (version from the first line of `tzdata.zi`, or
 * `+VERSION`) and Node's; the system's when they are equal, Node's where the system has none. A name that only the other
 * one knows is read from there. Throws when there is neither, or when the chosen one fails the self-test: wrong local
 * times must stop the start, not page people.
 */
export function loadZones({ directory = '/usr/share/zoneinfo' }: { readonly directory?: string } = {}): Zones {
  const osVersion = readOsVersion(directory);
  const nodeVersion = process.versions['tz'] ?? null;
  const source = newest(osVersion, nodeVersion);
  const version = source === 'os' ? osVersion : nodeVersion;
  if (version === null) {
    throw new Error(`no time zone data: install tzdata (looked in ${directory}) or use a Node with full ICU`);
  }
  const names = new Set([...(osVersion === null ? [] : listNames(directory)), ...nodeNames()]);
  const readers = [(name: string) => readCompiledZone(name, readFileSync(join(directory, name))), readNodeZone];
  if (source === 'node') readers.reverse();
  const built = new Map<string, Result<Zone>>([['UTC', parsed(zoneOf(UTC_TABLE))]]);
  const tables = new Map<string, ZoneTable>([['UTC', UTC_TABLE]]);
  const get = (name: string): Result<Zone> => {
    const known = built.get(name);
    if (known) return known;
    // Names come from outside: only ours are remembered, and only ours become a path.
    if (typeof name !== 'string' || !names.has(name)) return refused(whyNot(name, names));
    const table = readTable(name, readers);
    const zone = table.ok ? parsed(zoneOf(table.value)) : table;
    if (table.ok) tables.set(name, table.value);
    built.set(name, zone);
    return zone;
  };
  selfTest(get, `${version} from ${source === 'os' ? directory : 'Node'}`);
  return { version, source, get, table: (name) => (get(name).ok ? (tables.get(name) ?? null) : null) };
}

function readTable(name: string, readers: readonly ((name: string) => ZoneTable)[]): Result<ZoneTable> {
  const problems: string[] = [];
  for (const read of readers) {
    try {
      return parsed(read(name));
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  return refused(`the time zone ${name} cannot be read: ${problems.join('; ')}`);
}

/** Noon UTC of 1 July 2024, long settled in law, in a whole-hour, a half-hour and a half-hour-DST zone. */
const SELF_TEST_AT = Date.UTC(2024, 6, 1, 12);
const SELF_TEST = { 'America/New_York': -14_400, 'Asia/Kolkata': 19_800, 'Australia/Lord_Howe': 37_800 } as const;

function selfTest(get: Zones['get'], origin: string): void {
  for (const [name, offset] of Object.entries(SELF_TEST)) {
    const zone = get(name);
    const found = zone.ok ? zone.value.offsetAt(SELF_TEST_AT) : zone.reason;
    if (found === offset) continue;
    throw new Error(
      `the time zone data (${origin}) is wrong: ${name} should be ${offset} s from UTC at 2024-07-01T12:00:00Z, but is ${found}; reinstall tzdata`,
    );
  }
}

function readOsVersion(directory: string): string | null {
  const candidates: readonly (readonly [string, RegExp])[] = [
    ['tzdata.zi', /^# version (\d{4}[a-z]{1,2})/],
    ['+VERSION', /^(\d{4}[a-z]{1,2})/],
  ];
  for (const [file, pattern] of candidates) {
    try {
      const version = pattern.exec(readFileSync(join(directory, file), 'latin1'))?.[1];
      if (version !== undefined) return version;
    } catch {
      // Not there: some systems have one of the two, some none. Without a version the data cannot be judged.
    }
  }
  return null;
}

function newest(os: string | null, node: string | null): 'os' | 'node' {
  if (os === null) return 'node';
  if (node === null) return 'os';
  return rank(os) >= rank(node) ? 'os' : 'node';
}

/** `2025b` before `2025c` before `2025aa` (as 1996 had) before `2026a`. */
const rank = (version: string): string => version.slice(0, 4) + version.slice(4).padStart(2, ' ');

/** Whether tz database `version` came out before `than`; what is no version of it is neither older nor newer. */
export function isOlderTz(version: string, than: string): boolean {
  const isVersion = (text: string): boolean => /^\d{4}[a-z]{1,2}$/.test(text);
  return isVersion(version) && isVersion(than) && rank(version) < rank(than);
}

/** What may name a zone: every name with a slash, and UTC; of `Etc/` only `Etc/UTC`. */
function isZoneName(name: string): boolean {
  return (
    name === 'UTC' || name === 'Etc/UTC' || (/^[A-Z][\w+-]*(?:\/[\w+-]+)+$/.test(name) && !name.startsWith('Etc/'))
  );
}

function listNames(directory: string): string[] {
  const names: string[] = [];
  const walk = (prefix: string): void => {
    for (const entry of readdirSync(join(directory, prefix), { withFileTypes: true })) {
      const name = prefix + entry.name;
      if (entry.isDirectory() && name !== 'posix' && name !== 'right') walk(`${name}/`);
      else if (isZoneName(name)) names.push(name);
    }
  };
  walk('');
  return names;
}

function nodeNames(): string[] {
  return [...Intl.supportedValuesOf('timeZone').filter(isZoneName), 'Etc/UTC', ...UNLISTED.split(/\s+/)];
}

function whyNot(name: unknown, names: ReadonlySet<string>): string {
  const write = 'write a name such as Europe/Berlin or America/New_York, or UTC';
  if (typeof name !== 'string' || name.trim() === '') return `a time zone is required: ${write}`;
  if (name.length > 64) return `unknown time zone: ${write}`;
  if (name !== name.trim()) return `the time zone has spaces around it: write "${name.trim()}"`;
  const wanted = name.toLowerCase();
  for (const known of names)
    if (known.toLowerCase() === wanted) return `unknown time zone "${name}": did you mean ${known}?`;
  const shown = JSON.stringify(name);
  if (/^etc\//i.test(name)) {
    return `${shown} is not accepted: the sign of Etc names is reversed (Etc/GMT+2 is two hours behind UTC); ${write}`;
  }
  if (/^(?:(?:utc|gmt)?[+-]\d|[+-])/i.test(name)) {
    return `${shown} is an offset, not a time zone: it would be an hour off for half the year; ${write}`;
  }
  if (/^(?:posix|right)\//.test(name)) return `${shown} is not accepted: leave out the first part`;
  if (wanted === 'local') return `"local" depends on the machine: ${write}`;
  if (/^[A-Za-z0-9-]+$/.test(name)) {
    const places = [...names].filter((known) => known.toLowerCase().endsWith(`/${wanted}`));
    if (places.length === 1) return `${shown} is not accepted without its region: did you mean ${places[0]}?`;
    return `${shown} is not accepted (a name has a region, and abbreviations and old aliases can mean several zones): ${write}`;
  }
  return `unknown time zone ${shown}: ${write}`;
}

/** Names of the tz database (its `backward` file) that Node understands and Intl.supportedValuesOf leaves out. */
const UNLISTED = `
Africa/Asmara Africa/Timbuktu America/Argentina/Buenos_Aires America/Argentina/Catamarca
America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy America/Argentina/Mendoza
America/Atikokan America/Atka America/Ensenada America/Fort_Wayne America/Indiana/Indianapolis
America/Kentucky/Louisville America/Knox_IN America/Montreal America/Nipigon America/Nuuk America/Pangnirtung
America/Porto_Acre America/Rainy_River America/Rosario America/Santa_Isabel America/Shiprock America/Thunder_Bay
America/Virgin America/Yellowknife Antarctica/South_Pole Asia/Ashkhabad Asia/Choibalsan Asia/Chongqing Asia/Chungking
Asia/Dacca Asia/Harbin Asia/Ho_Chi_Minh Asia/Istanbul Asia/Kashgar Asia/Kathmandu Asia/Kolkata Asia/Macao
Asia/Tel_Aviv Asia/Thimbu Asia/Ujung_Pandang Asia/Ulan_Bator Asia/Yangon Atlantic/Faroe Atlantic/Jan_Mayen
Australia/ACT Australia/Canberra Australia/Currie Australia/LHI Australia/NSW Australia/North Australia/Queensland
Australia/South Australia/Tasmania Australia/Victoria Australia/West Australia/Yancowinna Brazil/Acre
Brazil/DeNoronha Brazil/East Brazil/West Canada/Atlantic Canada/Central Canada/Eastern Canada/Mountain
Canada/Newfoundland Canada/Pacific Canada/Saskatchewan Canada/Yukon Chile/Continental Chile/EasterIsland
Europe/Belfast Europe/Kyiv Europe/Nicosia Europe/Tiraspol Europe/Uzhgorod Europe/Zaporozhye Mexico/BajaNorte
Mexico/BajaSur Mexico/General Pacific/Chuuk Pacific/Johnston Pacific/Kanton Pacific/Pohnpei Pacific/Samoa Pacific/Yap
US/Alaska US/Aleutian US/Arizona US/Central US/East-Indiana US/Eastern US/Hawaii US/Indiana-Starke US/Michigan
US/Mountain US/Pacific US/Samoa
`.trim();
