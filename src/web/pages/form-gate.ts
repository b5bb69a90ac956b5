import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { PageDeps } from './deps.ts';
import { notePage } from './note.tsx';

type GateDeps = Pick<PageDeps, 'assets'>;

/** Refuses a form of more than `maxSize` bytes before it is read into memory. */
export function formLimit(deps: GateDeps, maxSize: number): MiddlewareHandler {
  return bodyLimit({ maxSize, onError: (c) => notePage(deps, c, 413, 'Too large', 'A form of this page sends less.') });
}

/**
 * Lets through only what can be read as a form, all of whose fields are text that can be stored: what none of our pages
 * sends is answered here, and is no error of theirs. Reads the whole body, so `formLimit` stands before it.
 */
export function formGate(deps: GateDeps): MiddlewareHandler {
  return async (c, next) => {
    if (c.req.method !== 'POST') return next();
    const refusal = await whyNot(c);
    return refusal === null ? next() : notePage(deps, c, 400, 'Not possible', refusal);
  };
}

async function whyNot(c: Context): Promise<string | null> {
  try {
    const form = await c.req.formData();
    for (const value of form.values()) {
      // PostgreSQL keeps no NUL in a text, and nobody can type one.
      if (typeof value === 'string' && value.includes('\0')) return 'A field of this form has a NUL character in it.';
    }
    return null;
  } catch (error) {
    if (error instanceof TypeError) return 'This was sent as no form that can be read.';
    throw error;
  }
}
