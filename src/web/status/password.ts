import { createHmac, timingSafeEqual } from 'node:crypto';
import { hashPassword, verifyPassword } from 'better-auth/crypto';
import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import type { Instant } from '../../core/time.ts';
import type { StoredStatusPage } from '../../store/status-pages.ts';

const COOKIE = 'status-page';
const LASTS_SECONDS = 30 * 86_400;

type Guarded = Pick<StoredStatusPage, 'id' | 'passwordHash'>;

/** Whether this request may see the page: it is public, or the password was given in this browser. */
export function isAdmitted(c: Context, page: Guarded, now: Instant): boolean {
  if (page.passwordHash === null) return true;
  const [until = '', sign = ''] = (getCookie(c, COOKIE) ?? '').split('.');
  return /^\d{1,15}$/.test(until) && Number(until) * 1000 > now && isSame(sign, signed(page, `until ${until}`));
}

/** Lets this browser in for 30 days, or until the password changes: it is the key by which the cookie is signed. */
export function admit(
  c: Context,
  page: Guarded,
  { now, path, secure }: { readonly now: Instant; readonly path: string; readonly secure: boolean },
): void {
  const until = Math.floor(now / 1000) + LASTS_SECONDS;
  const value = `${until}.${signed(page, `until ${until}`)}`;
  setCookie(c, COOKIE, value, { path, secure, httpOnly: true, sameSite: 'Lax', maxAge: LASTS_SECONDS });
}

/** `?key=…` for feed readers, calendars and badges, which fill in no form; nothing for a public page. */
export function keyOf(page: Guarded): string {
  return page.passwordHash === null ? '' : `?key=${signed(page, 'key')}`;
}

/** Whether a request brings that key. */
export function hasKey(c: Context, page: Guarded): boolean {
  const key = c.req.query('key');
  return page.passwordHash !== null && key !== undefined && isSame(key, signed(page, 'key'));
}

function signed({ id, passwordHash }: Guarded, what: string): string {
  return createHmac('sha256', passwordHash ?? '')
    .update(`status page ${id} ${what}`)
    .digest('base64url');
}

function isSame(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A wrong password and a page that is not there, or has none, take the same time. */
export function createPasswordCheck(): (page: Guarded | null, password: string) => Promise<boolean> {
  let nobody: Promise<string> | null = null;
  return async (page, password) => {
    nobody ??= hashPassword('nobody has this password');
    const hash = page?.passwordHash ?? null;
    const isRight = await verifyPassword({ hash: hash ?? (await nobody), password: password.slice(0, 200) });
    return hash !== null && isRight;
  };
}
