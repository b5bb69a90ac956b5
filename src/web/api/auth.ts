import type { Context } from 'hono';
import type { Database } from '../../store/database.ts';
import { findProjectOfApiKey, hashKey } from '../../store/keys.ts';
import { problem } from '../problem.ts';

/** Who calls: a key names its project. `actor` tells keys apart in the audit without being one. */
export type Caller = { readonly projectId: number; readonly actor: string };

/** The caller by the `Authorization: Bearer KEY` header, or from inside (pages/call.ts); null when there is none, or no such key. */
export async function authenticate(c: Context, database: Database): Promise<Caller | null> {
  // Bindings come from the process itself: nothing that is sent over the network gets there.
  const inside = (c.env as { readonly caller?: Caller } | undefined)?.caller;
  if (inside) return inside;
  // Headers may hold any bytes: only what a key can consist of gets further.
  const key = /^bearer +([A-Za-z0-9_-]{1,200}) *$/i.exec(c.req.header('authorization') ?? '')?.[1];
  if (key === undefined) return null;
  const projectId = await findProjectOfApiKey(database, key);
  return projectId === null ? null : { projectId, actor: `api key ${hashKey(key).slice(0, 8)}` };
}

/** 401, saying how to call. */
export function unauthorized(): Response {
  return problem(401, {
    type: 'unauthorized',
    detail: 'an API key is required: send the header Authorization: Bearer KEY',
    headers: { 'WWW-Authenticate': 'Bearer realm="Rollcall"' },
  });
}
