import type { Context } from 'hono';
import type { FieldError } from '../../core/schedule.ts';
import { type Instant, parseInstant, restorePlus } from '../../core/time.ts';
import { isSlug } from './slug.ts';

/** The query of one request, read parameter by parameter; what is wrong is collected. */
export type Query = { readonly given: Readonly<Record<string, string[]>>; readonly errors: FieldError[] };

/** How many things a list shows at most, and where it is not asked. */
export type PageSize = { readonly usual: number; readonly most: number };

/** What every list but the preview uses. */
export const LIST_SIZE: PageSize = { usual: 50, most: 500 };

/** Begins to read a query: a parameter that is not in `known` is refused, and so is one given twice that is not in `lists`. */
export function readQuery(c: Context, known: readonly string[], lists: readonly string[] = []): Query {
  const given = c.req.queries();
  const errors: FieldError[] = [];
  for (const [name, values] of Object.entries(given)) {
    if (!known.includes(name)) {
      const path = name.length > 100 ? `${name.slice(0, 100)}…` : name;
      errors.push({ path, message: `unknown parameter: remove it, or use ${known.join(', ')}` });
    } else if (values.length > 1 && !lists.includes(name)) {
      errors.push({ path: name, message: 'is given more than once: give it once' });
    }
  }
  return { given, errors };
}

/** A parameter as text; null when it was left out. */
export function textParameter({ given }: Query, name: string): string | null {
  return Object.hasOwn(given, name) ? (given[name]?.[0] ?? null) : null;
}

/** All values of a parameter that may be repeated or separated by commas; null when it was left out. */
export function listParameter({ given }: Query, name: string): readonly string[] | null {
  if (!Object.hasOwn(given, name)) return null;
  return (given[name] ?? []).flatMap((value) => value.split(',')).map((value) => value.trim());
}

/** An RFC 3339 instant; null when it was left out. The `+` of an offset may arrive as a space. */
export function instantParameter(query: Query, name: string): Instant | null {
  const text = textParameter(query, name);
  if (text === null) return null;
  const instant = parseInstant(restorePlus(text));
  if (instant.ok) return instant.value;
  query.errors.push({ path: name, message: instant.reason });
  return null;
}

/** `limit`: at least 1; more than the most is cut. */
export function limitParameter(query: Query, { usual, most }: PageSize = LIST_SIZE): number {
  const text = textParameter(query, 'limit');
  if (text === null) return usual;
  if (/^\d+$/.test(text) && Number(text) >= 1) return Math.min(Number(text), most);
  query.errors.push({ path: 'limit', message: `must be a whole number from 1 to ${most}` });
  return usual;
}

/** One of a few words; null when it was left out. */
export function wordParameter<W extends string>(query: Query, name: string, words: readonly W[]): W | null {
  const text = textParameter(query, name);
  if (text === null) return null;
  const word = words.find((known) => known === text);
  if (word === undefined) query.errors.push({ path: name, message: `must be ${words.join(' or ')}` });
  return word ?? null;
}

const CURSOR_HINT = 'is not a cursor of this list: use next_cursor of the page before, as it was given';

/** `cursor` of a list that goes by id or instant: the number it continues from; null on the first page. */
export function numberCursor(query: Query): number | null {
  return cursorParameter(query, (position) => (/^-?\d{1,15}$/.test(position) ? Number(position) : null));
}

/** `cursor` of a list that goes by slug; null on the first page. */
export function slugCursor(query: Query): string | null {
  return cursorParameter(query, (position) => (isSlug(position) ? position : null));
}

/** `cursor` as its list reads it; null on the first page. `read` says null to what it never gave. */
export function cursorParameter<T>(query: Query, read: (position: string) => T | null): T | null {
  const text = cursorValue(query);
  if (text === null) return null;
  const position = read(text);
  if (position === null) query.errors.push({ path: 'cursor', message: CURSOR_HINT });
  return position;
}

/** The cursor of the page after the thing with this id, instant or slug, or after this position of a list of its own. */
export function cursorAfter(value: number | string): string {
  return Buffer.from(`after ${value}`).toString('base64url');
}

function cursorValue(query: Query): string | null {
  const text = textParameter(query, 'cursor');
  if (text === null) return null;
  const value = /^after (.*)$/.exec(Buffer.from(text, 'base64url').toString())?.[1] ?? '';
  // A cursor is taken only as it was given: base64url reads past what does not belong to it.
  return cursorAfter(value) === text ? value : '';
}

/** A page of at most `limit` of the things found, of which one more than `limit` was asked for. */
export function pageOf<T>(
  found: readonly T[],
  limit: number,
  positionOf: (one: T) => number | string,
): { readonly page: readonly T[]; readonly nextCursor: string | null } {
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return { page, nextCursor: found.length > limit && last !== undefined ? cursorAfter(positionOf(last)) : null };
}
