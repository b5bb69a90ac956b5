import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';

const COOKIE = 'flash';

/** Goes to `path` with a GET (303), which shows `text` once: reloading it sends nothing again. */
export function goTo(c: Context, path: string, text?: string): Response {
  if (text !== undefined) {
    setCookie(c, COOKIE, Buffer.from(text).toString('base64url'), {
      path: '/',
      httpOnly: true,
      sameSite: 'Lax',
      maxAge: 30,
    });
  }
  return c.redirect(path, 303);
}

/** What the form before this page did, once. */
export function takeFlash(c: Context): string | undefined {
  const value = getCookie(c, COOKIE);
  if (value === undefined) return undefined;
  deleteCookie(c, COOKIE, { path: '/' });
  return Buffer.from(value, 'base64url').toString().slice(0, 500);
}
