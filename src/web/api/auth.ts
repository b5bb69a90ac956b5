import type { Context } from 'hono';
import { findApiKey } from '../../store/api-keys.ts';
import type { Database } from '../../store/database.ts';
import { hashKey, type KeyScope } from '../../store/keys.ts';
import { problem } from '../problem.ts';

/** Who calls: a key names its project. `actor` tells keys apart in the audit without being one. */
export type Caller = {
  readonly projectId: number;
  readonly actor: string;
  /** What the key may do; left out: a person, whose role was asked before. */
  readonly scopes?: readonly KeyScope[];
};

/** The caller by the `Authorization: Bearer KEY` header, or from inside (pages/call.ts); null when there is none, or no such key. */
export async function authenticate(c: Context, database: Database): Promise<Caller | null> {
  // Bindings come from the process itself: nothing that is sent over the network gets there.
  const inside = (c.env as { readonly caller?: Caller } | undefined)?.caller;
  if (inside) return inside;
  // Headers may hold any bytes: only what a key can consist of gets further.
  const key = /^bearer +([A-Za-z0-9_-]{1,200}) *$/i.exec(c.req.header('authorization') ?? '')?.[1];
  if (key === undefined) return null;
  const found = await findApiKey(database, key);
  if (found === null) return null;
  const { projectId, scopes, name, hint } = found;
  // As the page of the keys shows them; those of an older Rollcall have no hint.
  const actor = name === '' ? `api key ${hint || hashKey(key).slice(0, 8)}…` : `api key ${name} (${hint}…)`;
  return { projectId, scopes, actor };
}

/** What a call asks of its key: reading reads, everything else writes. write includes read. */
export function isAllowed({ scopes }: Caller, method: string): boolean {
  return scopes === undefined || scopes.includes('write') || (method === 'get' && scopes.includes('read'));
}

/** Whether a caller may have the ping addresses of jobs: whoever has one can ping. */
export function mayHavePingUrl({ scopes }: Caller): boolean {
  return scopes === undefined || scopes.includes('write') || scopes.includes('ping');
}

/** 403: the key is known, and this call is beyond it. */
export function beyondScope({ scopes = [] }: Caller, method: string): Response {
  const needed = method === 'get' ? 'read' : 'write';
  return problem(403, {
    type: 'scope',
    detail: `this API key has the scope ${scopes.join(', ') || 'none'}, and the call needs ${needed}: use another key`,
  });
}

/** 401, saying how to call. */
export function unauthorized(): Response {
  return problem(401, {
    type: 'unauthorized',
    detail: 'an API key is required: send the header Authorization: Bearer KEY',
    headers: { 'WWW-Authenticate': 'Bearer realm="Rollcall"' },
  });
}
