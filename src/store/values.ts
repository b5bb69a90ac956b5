import type { Instant } from '../core/time.ts';

/** How values of one PostgreSQL type pass between JavaScript and the server's text. */
type Codec = { readonly serialize: (value: unknown) => string; readonly parse: (text: string) => unknown };

/** timestamptz is an Instant. Text passes as it is; a Date never does. */
const instant: Codec = {
  serialize(value) {
    if (typeof value === 'string') return value;
    if (value === Number.POSITIVE_INFINITY) return 'infinity';
    if (value === Number.NEGATIVE_INFINITY) return '-infinity';
    if (typeof value !== 'number' || Number.isNaN(value)) throw new TypeError(`not an Instant: ${String(value)}`);
    return new Date(value).toISOString();
  },
  parse: parseTimestamp,
};

const int8: Codec = {
  serialize: String,
  parse(text) {
    const value = Number(text);
    if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is too large for a number`);
    return value;
  },
};

/** drizzle hands JSON over as text already, raw queries as values. */
const json: Codec = {
  serialize: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
  parse: (text) => JSON.parse(text) as unknown,
};
const boolean: Codec = { serialize: (value) => (value === true ? 't' : 'f'), parse: (text) => text === 't' };
const number: Codec = { serialize: String, parse: Number };
/** Also of dates and timestamps without zone: parsed, they would depend on the zone of this machine. */
const text: Codec = { serialize: String, parse: String };

/** Types by their oid, with the oid of their array. */
const CODECS: readonly (readonly [oid: number, array: number, codec: Codec])[] = [
  [16, 1000, boolean],
  [20, 1016, int8],
  [21, 1005, number],
  [23, 1007, number],
  [25, 1009, text],
  [114, 199, json],
  [700, 1021, number],
  [701, 1022, number],
  [1043, 1015, text],
  [1082, 1182, text],
  [1114, 1115, text],
  [1184, 1185, instant],
  [1700, 1231, text],
  [2950, 2951, text],
  [3802, 3807, json],
];

/** For postgres.js's `types` option: single values and arrays. */
export const valueTypes = Object.fromEntries(
  CODECS.flatMap(([oid, array, codec]) => [
    [`t${oid}`, { to: oid, from: [oid], ...codec }],
    [`t${array}`, { to: array, from: [array], ...arrayOf(codec) }],
  ]),
);

/** The array type of each type, as postgres.js looks it up for sql.array(). */
export const arrayTypeOf: Readonly<Record<number, number>> = Object.fromEntries(
  CODECS.map(([oid, array]) => [oid, array]),
);

/** Reads PostgreSQL's ISO output of timestamptz, whatever its offset; microseconds are cut. */
function parseTimestamp(value: string): Instant {
  if (value === 'infinity') return Number.POSITIVE_INFINITY;
  if (value === '-infinity') return Number.NEGATIVE_INFINITY;
  const match = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?([+-]\d\d)(?::?(\d\d))?(?::?(\d\d))?$/.exec(value);
  if (!match) throw new RangeError(`not a timestamp of the years 0 to 9999: ${value}`);
  const [, date, time, fraction = '', hours = '+00', minutes = '00', seconds = '00'] = match;
  const at = Date.parse(`${date}T${time}.${fraction.padEnd(3, '0').slice(0, 3)}${hours}:${minutes}`);
  return at - (hours.startsWith('-') ? -1 : 1) * Number(seconds) * 1000;
}

function arrayOf({ serialize, parse }: Codec): Codec {
  const write = (value: unknown): string => {
    if (Array.isArray(value)) return `{${value.map(write).join(',')}}`;
    if (value === null || value === undefined) return 'NULL';
    return `"${serialize(value).replace(/[\\"]/g, '\\$&')}"`;
  };
  return {
    serialize: (value) => (typeof value === 'string' ? value : write(value)),
    parse: (all) => readArray(all, parse),
  };
}

/** Reads `{1,NULL,"a \"b\""}`, nested ones too. */
function readArray(all: string, parse: (text: string) => unknown): unknown {
  const stack: unknown[][] = [[]];
  for (const [token, quoted, plain] of all.matchAll(/[{}]|"((?:[^"\\]|\\.)*)"|([^{},"]+)/gs)) {
    if (token === '{') stack.push([]);
    else if (token === '}') {
      const inner = stack.pop();
      stack.at(-1)?.push(inner);
    } else if (quoted !== undefined) stack.at(-1)?.push(parse(quoted.replace(/\\(.)/gs, '$1')));
    else stack.at(-1)?.push(plain === 'NULL' ? null : parse(plain ?? ''));
  }
  return stack[0]?.[0];
}
