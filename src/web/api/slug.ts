const SLUG = /^[a-z0-9_-]{1,100}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** They end ping URLs (DESIGN section 9). */
const RESERVED: ReadonlySet<string> = new Set(['start', 'fail', 'log']);

/** Whether this is a UUID, in any case. */
export function isUuid(text: string): boolean {
  return UUID.test(text.toLowerCase());
}

/** Whether this can name something that exists; whatever cannot must not reach the database (NUL). */
export function isSlug(text: string): boolean {
  return SLUG.test(text);
}

/** What keeps this from becoming the slug of a new job or channel, or null. */
export function slugFlaw(text: string): string | null {
  if (!isSlug(text)) return 'a slug is 1 to 100 of a-z, 0-9, "-" and "_"';
  if (RESERVED.has(text)) return `"${text}" is reserved, because ping URLs end in it: choose another slug`;
  if (/^\d+$/.test(text)) return 'a slug cannot be a plain number, because ping URLs end in exit codes: add a letter';
  if (UUID.test(text)) return 'a slug cannot be a UUID, because a UUID in a ping URL names a job: choose another slug';
  return null;
}
