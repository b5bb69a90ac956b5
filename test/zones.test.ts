import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { timetable } from '../src/core/schedule.ts';
import { formatInstant } from '../src/core/time.ts';
import type { Zone, ZoneTable } from '../src/core/zone.ts';
import { loadZones } from '../src/zones.ts';
import { readCompiledZone } from '../src/zones-compiled.ts';
import { readNodeZone } from '../src/zones-node.ts';

const OS = '/usr/share/zoneinfo';
const hasOs = existsSync(join(OS, 'Europe/Berlin'));
const zones = loadZones();
const zone = (name: string): Zone => {
  const found = zones.get(name);
  if (!found.ok) throw new Error(found.reason);
  return found.value;
};
const reason = (name: string): string => {
  const found = zones.get(name);
  return found.ok ? 'accepted' : found.reason;
};
const compiled = (name: string): ZoneTable => readCompiledZone(name, readFileSync(join(OS, name)));

describe('the name of a zone', () => {
  test.each([
    'Europe/Kyiv',
    'Europe/Kiev',
    'Asia/Kolkata',
    'US/Pacific',
    'America/Argentina/ComodRivadavia',
    'America/Port-au-Prince',
    'Etc/UTC',
    'UTC',
  ])('%s is accepted and kept as typed (SCH-045)', (name) => {
    expect(zone(name).name).toBe(name);
  });

  test('an old and a new name are the same zone', () => {
    for (const instant of [0, Date.UTC(1995, 6, 1), Date.UTC(2026, 0, 1), Date.UTC(2026, 6, 1)]) {
      expect(zone('Europe/Kyiv').offsetAt(instant)).toBe(zone('Europe/Kiev').offsetAt(instant));
    }
  });

  test.each([
    ['CST', /abbreviation/],
    ['EST', /abbreviation/],
    ['MST', /abbreviation/],
    ['PST8PDT', /abbreviation/],
    ['CET', /abbreviation/],
    ['GMT', /abbreviation/],
    ['Zulu', /abbreviation/],
    ['Japan', /abbreviation/],
    ['Berlin', /without its region: did you mean Europe\/Berlin\?/],
    ['Bonn', /a name has a region/],
    ['GMT+2', /is an offset/],
    ['UTC+3', /is an offset/],
    ['+03:00', /is an offset/],
    ['-5', /is an offset/],
    ['Etc/GMT+2', /reversed/],
    ['Etc/UCT', /Etc/],
    ['Etc/utc', /did you mean Etc\/UTC/],
    ['', /required/],
    ['   ', /required/],
    [' Europe/Riga', /spaces around/],
    ['Europe/Riga ', /spaces around/],
    ['local', /depends on the machine/],
    ['utc', /did you mean UTC/],
    ['europe/berlin', /did you mean Europe\/Berlin/],
    ['EUROPE/KYIV', /did you mean Europe\/Kyiv/],
    ['posix/Europe/Berlin', /leave out/],
    ['right/Europe/Berlin', /leave out/],
    ['SystemV/EST5', /unknown time zone/],
    ['Europe/Atlantis', /unknown time zone/],
    ['../../etc/passwd', /unknown time zone/],
    ['Europe/Berlin\0', /unknown time zone/],
    ['__proto__', /unknown time zone/],
    ['x/'.repeat(5000), /unknown time zone/],
  ])('%j is refused with a hint (SCH-046)', (name, hint) => {
    expect(reason(name)).toMatch(hint);
    expect(reason(name)).toMatch(/write|did you mean|leave out/);
  });

  test('that is no text is refused (SCH-047)', () => {
    expect(zones.get(undefined as unknown as string)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/required/),
    });
  });

  test('every name that Node lists, and every name with a slash in the system, is a zone', () => {
    const listed = Intl.supportedValuesOf('timeZone').filter((name) => name.includes('/') && !name.startsWith('Etc/'));
    const unknown = listed.filter((name) =>
      /did you mean|unknown|abbreviation/.test(name.length > 64 ? '' : checkName(name)),
    );
    expect(unknown).toEqual([]);
  });
});

/** Whether the name is listed, without building its table: an empty text when it is. */
function checkName(name: string): string {
  const found = zones.get(name.toLowerCase());
  return found.ok || found.reason.endsWith(`did you mean ${name}?`) ? '' : found.reason;
}

describe('where the data comes from', () => {
  const made: string[] = [];
  const directory = (): string => {
    const path = mkdtempSync(join(tmpdir(), 'rollcall-zones-'));
    made.push(path);
    return path;
  };
  afterAll(() => {
    for (const path of made) rmSync(path, { recursive: true });
  });
  const nodeVersion = process.versions['tz'];

  test('a system without tz data leaves Node (STO-015)', () => {
    const bare = loadZones({ directory: '/nonexistent' });
    expect([bare.source, bare.version]).toEqual(['node', nodeVersion]);
    for (const name of ['Europe/Kyiv', 'US/Pacific', 'America/Nuuk', 'Etc/UTC']) expect(bare.get(name).ok).toBe(true);
    expect(bare.get('Europe/Atlantis').ok).toBe(false);
  });

  test.skipIf(!hasOs)('the newer of the two is taken, by the version the files state', () => {
    const path = directory();
    for (const area of ['America', 'Asia', 'Australia'])
      cpSync(join(OS, area), join(path, area), { recursive: true, dereference: true });
    writeFileSync(join(path, 'tzdata.zi'), '# version 2099a\n');
    expect(loadZones({ directory: path })).toMatchObject({ source: 'os', version: '2099a' });
    expect(loadZones({ directory: path }).get('Europe/Berlin')).toMatchObject({ ok: true });
    writeFileSync(join(path, 'tzdata.zi'), '# version 2001a\n');
    expect(loadZones({ directory: path })).toMatchObject({ source: 'node', version: nodeVersion });
    rmSync(join(path, 'tzdata.zi'));
    writeFileSync(join(path, '+VERSION'), '2099b\n');
    expect(loadZones({ directory: path })).toMatchObject({ source: 'os', version: '2099b' });
    rmSync(join(path, '+VERSION'));
    expect(loadZones({ directory: path })).toMatchObject({ source: 'node' });
  });

  test.skipIf(!hasOs)('wrong data stops the start, and the message names zone and remedy (STO-015)', () => {
    const path = directory();
    for (const area of ['America', 'Asia', 'Australia'])
      cpSync(join(OS, area), join(path, area), { recursive: true, dereference: true });
    writeFileSync(join(path, 'tzdata.zi'), '# version 2099a\n');
    cpSync(join(OS, 'Asia/Tokyo'), join(path, 'America/New_York'), { dereference: true });
    expect(() => loadZones({ directory: path })).toThrow(
      /America\/New_York should be -14400 s .* but is 32400; reinstall tzdata/,
    );
  });

  test.skipIf(!hasOs)(
    'one damaged file costs nothing while Node knows the zone, and only that zone when it does not',
    () => {
      const path = directory();
      for (const area of ['America', 'Asia', 'Australia'])
        cpSync(join(OS, area), join(path, area), { recursive: true, dereference: true });
      writeFileSync(join(path, 'tzdata.zi'), '# version 2099a\n');
      writeFileSync(join(path, 'America/Lima'), 'damaged');
      writeFileSync(join(path, 'America/Atlantis'), 'damaged');
      const loaded = loadZones({ directory: path });
      expect(loaded.get('America/Lima').ok).toBe(true);
      expect(loaded.get('America/Atlantis')).toMatchObject({
        ok: false,
        reason: expect.stringMatching(/America\/Atlantis cannot be read: not a compiled tz file/),
      });
      expect(loaded.get('America/Caracas').ok).toBe(true);
    },
  );

  test.skipIf(!existsSync(join(OS, 'right/Europe/Berlin')))('files that count leap seconds are not read', () => {
    expect(() => readCompiledZone('right', readFileSync(join(OS, 'right/Europe/Berlin')))).toThrow(/leap seconds/);
  });
});

/** Where the law is the same in every version of the tz database that a machine may have today. */
const SETTLED_FROM = Date.UTC(1980, 0, 1);
const SETTLED_UNTIL = Date.UTC(2025, 0, 1);
const DISPUTED = new Set(['Europe/Chisinau', 'Europe/Tiraspol']);

describe('the tables', () => {
  test.skipIf(!hasOs)('read from the system agree with Intl in all zones, where all versions agree', () => {
    const names = Intl.supportedValuesOf('timeZone').filter(
      (name) => name.includes('/') && existsSync(join(OS, name)) && !DISPUTED.has(name),
    );
    expect(names.length).toBeGreaterThan(400);
    const wrong: string[] = [];
    for (const [n, name] of names.entries()) {
      const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset', year: 'numeric' });
      const table = compiled(name);
      for (let i = 0; i < 60; i++) {
        const instant = SETTLED_FROM + Math.floor(((i * 60 + (n % 60)) / 3600) * (SETTLED_UNTIL - SETTLED_FROM));
        const [, sign, hours = 0, minutes = 0, seconds = 0] =
          /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(format.format(instant)) ?? [];
        const offset = (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds));
        const after = table.transitions.findIndex((at) => at > instant);
        const ours = table.offsets.at(after < 0 ? -1 : after);
        if (ours !== offset) wrong.push(`${name} ${formatInstant(instant)} ${ours} ${offset}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test
    .skipIf(!hasOs)
    .each([
      'Europe/Berlin',
      'Europe/Dublin',
      'Africa/Casablanca',
      'Africa/Cairo',
      'Asia/Gaza',
      'America/Nuuk',
      'America/Santiago',
      'Africa/Monrovia',
      'Australia/Lord_Howe',
      'Pacific/Apia',
      'Antarctica/Troll',
      'US/Pacific',
    ])('of %s made by asking Node and read from the system have the same changes, to the second', (name) => {
    const settled = ({ transitions, offsets }: ZoneTable) =>
      transitions.map((at, i) => `${formatInstant(at)} ${offsets[i + 1]}`).filter((change) => change < '2025');
    expect(settled(readNodeZone(name))).toEqual(settled(compiled(name)));
    expect(settled(compiled(name)).length).toBeGreaterThan(0);
  });

  test.skipIf(!hasOs).each(['Europe/Berlin', 'America/Santiago', 'Australia/Lord_Howe'])(
    'of %s repeat after 400 years from either source',
    (name) => {
      for (const table of [compiled(name), readNodeZone(name)]) {
        expect(table.cycle).toBe(800);
        const last = table.transitions.at(-1) ?? 0;
        const before = table.transitions.at(-801) ?? 0;
        expect((last - before) / 86_400_000).toBe(146_097);
      }
    },
  );
});

type Disagreement = { zone: string; first_only_in_2025: string[]; first_only_in_2026f: string[] };
const { node_2025c_vs_debian_2026f: disagreements } = JSON.parse(
  readFileSync(new URL('./vectors/tz-disagreements.json', import.meta.url), 'utf8'),
) as {
  node_2025c_vs_debian_2026f: Disagreement[];
};
const side = zones.version >= '2026f' ? '2026f' : zones.version <= '2025c' ? '2025' : 'neither';

describe(`where tz versions disagree: this process has ${zones.version} (from ${zones.source}), so the side of ${side}`, () => {
  const changes = (name: string, texts: readonly string[]): boolean[] =>
    texts.map((text) => {
      const [, at = '', before, after] = /^(\S+) ([+-]\d+)min -> ([+-]\d+)min$/.exec(text) ?? [];
      const change = zone(name).transitionAt(Date.parse(at));
      return change !== null && change.before === Number(before) * 60 && change.after === Number(after) * 60;
    });
  const named = disagreements.filter((one) => one.zone.includes('/'));

  test.skipIf(side === 'neither').each(named)(
    '$zone',
    ({ zone: name, first_only_in_2025: old, first_only_in_2026f: recent }) => {
      expect(changes(name, old)).toEqual(old.map(() => side === '2025'));
      expect(changes(name, recent)).toEqual(recent.map(() => side === '2026f'));
    },
  );

  test.skipIf(side === 'neither')(
    'Vancouver, Edmonton and Casablanca are due by the law of the version in use (SCH-040)',
    () => {
      const next = (cron: string, name: string, after: string): string =>
        formatInstant(timetable([{ cron }], zone(name)).next(Date.parse(after))?.at ?? 0);
      expect(next('0 9 * * *', 'America/Vancouver', '2026-10-31T12:00:00Z')).toBe('2026-10-31T16:00:00Z');
      const due = [
        next('0 9 * * *', 'America/Vancouver', '2026-11-01T12:00:00Z'),
        next('0 9 * * *', 'America/Edmonton', '2026-12-01T00:00:00Z'),
        next('0 4 * * *', 'Africa/Casablanca', '2026-12-01T00:00:00Z'),
      ];
      const law = {
        '2025': ['2026-11-01T17:00:00Z', '2026-12-01T16:00:00Z', '2026-12-01T03:00:00Z'],
        '2026f': ['2026-11-01T16:00:00Z', '2026-12-01T15:00:00Z', '2026-12-01T04:00:00Z'],
      };
      expect(due).toEqual(law[side as keyof typeof law]);
    },
  );
});
