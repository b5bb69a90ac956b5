import type { FieldError } from '../../core/schedule.ts';
import { parseDuration, type Seconds } from '../../core/time.ts';

/** A JSON object from outside, read field by field; what is wrong is collected, so that one answer names it all. */
export type Fields = { readonly input: Readonly<Record<string, unknown>>; readonly errors: FieldError[] };

/** Begins to read an object; every field that is not in `known` is refused by name. */
export function readFields(input: Readonly<Record<string, unknown>>, known: readonly string[]): Fields {
  const errors: FieldError[] = [];
  for (const name of Object.keys(input)) {
    if (known.includes(name)) continue;
    errors.push({ path: shortened(name), message: `unknown field: remove it, or write one of ${known.join(', ')}` });
  }
  return { input, errors };
}

/** The value of a field; undefined when it was left out. Never one inherited from Object.prototype. */
export function fieldValue({ input }: Fields, name: string): unknown {
  return Object.hasOwn(input, name) ? input[name] : undefined;
}

/** The value of a field that the answer shows as null by default: null counts as left out. */
export function nullableValue(fields: Fields, name: string): unknown {
  return fieldValue(fields, name) ?? undefined;
}

/** Notes that a field is wrong. */
export function refuseField({ errors }: Fields, path: string, message: string): void {
  errors.push({ path, message });
}

/** What keeps a text from being stored and shown, or null: PostgreSQL takes no NUL, JSON no half of a surrogate pair. */
export function textFlaw(text: string, max: number, lines = false): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  const controls = lines ? /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/ : /[\0-\x1f\x7f]/;
  if (controls.test(text)) return `must not contain control characters${lines ? ' other than tabs and line ends' : ''}`;
  if (/\p{Surrogate}/u.test(text)) return 'must be valid Unicode: half of a surrogate pair is not a character';
  const length = [...text].length;
  return length > max ? `must be at most ${max} characters long: it has ${length}` : null;
}

type TextRule = { readonly max: number; readonly fallback: string; readonly lines?: boolean; readonly blank?: boolean };

/** A text; left out it is `fallback`. `lines`: may have several lines; `blank`: may be empty. */
export function textField(fields: Fields, name: string, { max, fallback, lines, blank = true }: TextRule): string {
  const value = fieldValue(fields, name);
  if (value === undefined) return fallback;
  if (typeof value !== 'string') refuseField(fields, name, 'must be text, or left out');
  else {
    const flaw =
      !blank && value.trim() === '' ? 'must not be empty: leave it out instead' : textFlaw(value, max, lines);
    if (flaw === null) return value;
    refuseField(fields, name, flaw);
  }
  return fallback;
}

/** One of a few words; left out it is `fallback`. */
export function wordField<W extends string>(fields: Fields, name: string, words: readonly W[], fallback: W): W {
  const value = fieldValue(fields, name);
  if (value === undefined) return fallback;
  const word = words.find((known) => known === value);
  if (word === undefined) refuseField(fields, name, `must be ${words.map((known) => `"${known}"`).join(' or ')}`);
  return word ?? fallback;
}

/** The longest duration of a setting: 366 days. */
const LONGEST: Seconds = 366 * 86_400;

/** A duration in whole seconds; null when it was left out or null. */
export function durationField(fields: Fields, name: string, { zero = false } = {}): Seconds | null {
  const value = nullableValue(fields, name);
  if (value === undefined) return null;
  const duration = parseDuration(value);
  if (!duration.ok) refuseField(fields, name, duration.reason);
  else if (duration.value > LONGEST) refuseField(fields, name, 'must be at most 366d');
  else if (duration.value === 0 && !zero) refuseField(fields, name, 'must be longer than 0s: leave it out instead');
  else return duration.value;
  return null;
}

/** A whole number from `least` to `most`; null when it was left out or null. */
export function countField(
  fields: Fields,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
): number | null {
  const value = nullableValue(fields, name);
  if (value === undefined) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
  refuseField(fields, name, `must be a whole number from ${least} to ${most}`);
  return null;
}

type ListRule = { readonly most: number; readonly item: (value: string) => string | null; readonly what: string };

/** A list of different texts, each of which `item` has nothing against; null when it was left out. */
export function listField(fields: Fields, name: string, { most, item, what }: ListRule): readonly string[] | null {
  const value = fieldValue(fields, name);
  if (value === undefined) return null;
  if (!Array.isArray(value)) refuseField(fields, name, `must be a list of ${what}, such as []`);
  else if (value.length > most) refuseField(fields, name, `must have at most ${most} ${what}: it has ${value.length}`);
  else
    return value.filter((entry: unknown, i): entry is string =>
      isListItem(fields, `${name}[${i}]`, entry, { item, value, i }),
    );
  return null;
}

type ListItem = { readonly item: ListRule['item']; readonly value: readonly unknown[]; readonly i: number };

function isListItem(fields: Fields, path: string, entry: unknown, { item, value, i }: ListItem): entry is string {
  const flaw = typeof entry !== 'string' ? 'must be text' : item(entry);
  const problem = flaw ?? (value.indexOf(entry) < i ? 'is in the list twice: remove one' : null);
  if (problem !== null) refuseField(fields, path, problem);
  return problem === null;
}

/** A name from outside as an answer may repeat it. */
function shortened(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}…` : name;
}
