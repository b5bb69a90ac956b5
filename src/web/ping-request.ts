import type { IncomingPing, PingTarget } from '../engine/ingest.ts';
import { hashKey } from '../store/keys.ts';

/** What the address of a ping says, or the answer to one that says nothing readable. */
export type PingRequest =
  | { readonly ok: true; readonly ping: AddressedPing }
  | { readonly ok: false; readonly status: 400 | 404; readonly message: string };

type AddressedPing = Pick<IncomingPing, 'target' | 'kind' | 'exitCode' | 'rid' | 'occ' | 'at' | 'dur' | 'flaw'>;

/** Bodies that Healthchecks' clients grep for. */
export const INVALID_URL = 'invalid url format';
const INVALID_RID = 'invalid uuid format';
export const NOT_FOUND = 'not found';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const KEY = /^[A-Za-z0-9_-]{1,200}$/;
const SLUG = /^[a-z0-9_-]{1,100}$/;
const RESERVED_SLUG = /^(?:start|fail|log|\d+)$/;

/**
 * Reads `/ping/{uuid}[/…]` and `/ping/{ping-key}/{slug}[/…]` from the path and query as sent, still percent-encoded.
 * Doubled and trailing slashes are ignored. Where the job can be told, what is wrong besides becomes its `flaw`, so that
 * the ping is stored all the same.
 */
export function readPingRequest(path: string, query: string, occurrenceHeader: string | undefined): PingRequest {
  const segments = decodeSegments(path);
  if (segments === null) return { ok: false, status: 400, message: 'malformed percent-encoding in the path' };
  const [first = '', ...rest] = segments.slice(1);
  if (segments.some((segment) => segment.includes('\0'))) return { ok: false, status: 400, message: INVALID_URL };
  const parameters = readQuery(query);
  const isUuid = UUID.test(first);
  const target = isUuid ? { uuid: first.toLowerCase() } : keyTarget(first, rest.shift(), parameters);
  if ('status' in target) return target;
  const action = readAction(rest);
  if (action === null) return { ok: false, status: 404, message: NOT_FOUND };
  return { ok: true, ping: { target, ...action, ...readParameters(parameters, action.flaw, occurrenceHeader) } };
}

function decodeSegments(path: string): string[] | null {
  try {
    return path
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeURIComponent);
  } catch {
    return null;
  }
}

function keyTarget(
  key: string,
  slug: string | undefined,
  parameters: Parameters,
): PingTarget | Exclude<PingRequest, { ok: true }> {
  if (slug === undefined) return { ok: false, status: 404, message: NOT_FOUND };
  if (!KEY.test(key) || !SLUG.test(slug)) return { ok: false, status: 400, message: INVALID_URL };
  if (RESERVED_SLUG.test(slug)) return { ok: false, status: 404, message: NOT_FOUND };
  return { pingKeyHash: hashKey(key), slug, create: parameters.get('create') === '1' };
}

type Flaw = IncomingPing['flaw'];
type Action = Pick<IncomingPing, 'kind' | 'exitCode'> & { readonly flaw: Flaw };

/** The largest exit code that fits where it is kept; whatever is above is no exit code anyway. */
const LARGEST_KEPT = 2 ** 31 - 1;

function readAction([action, ...rest]: readonly string[]): Action | null {
  if (rest.length > 0) return null;
  if (action === undefined) return { kind: 'success', exitCode: null, flaw: null };
  if (action === 'start' || action === 'fail' || action === 'log') return { kind: action, exitCode: null, flaw: null };
  if (!/^\d+$/.test(action)) return null;
  const code = Number(action);
  const flaw = code > 255 ? { status: 400 as const, message: INVALID_URL } : null;
  return { kind: code === 0 ? 'success' : 'fail', exitCode: code > LARGEST_KEPT ? null : code, flaw };
}

/** Decoded values by name; null where the percent-encoding is malformed. The last of several wins, as in Healthchecks. */
type Parameters = ReadonlyMap<string, string | null>;

function readQuery(query: string): Parameters {
  const parameters = new Map<string, string | null>();
  for (const pair of query.split('&')) {
    const [name = '', ...value] = pair.split('=');
    parameters.set(decodePart(name) ?? name, decodePart(name) === null ? null : decodePart(value.join('=')));
  }
  return parameters;
}

function decodePart(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

/** No more than this is kept of a parameter: every readable one is shorter. */
const LONGEST_PARAMETER = 200;

function readParameters(
  parameters: Parameters,
  flawOfPath: Flaw,
  occurrenceHeader: string | undefined,
): Pick<AddressedPing, 'rid' | 'occ' | 'at' | 'dur' | 'flaw'> {
  // PostgreSQL cannot hold NUL in text; what was sent instead stays visible.
  const text = (value: string | null | undefined): string | null =>
    value?.slice(0, LONGEST_PARAMETER).replaceAll('\0', '\uFFFD') ?? null;
  const rid = parameters.get('rid') ?? null;
  const occ = parameters.has('occ') ? (parameters.get('occ') ?? null) : (occurrenceHeader ?? null);
  return {
    rid: rid !== null && UUID.test(rid) ? rid.toLowerCase() : null,
    occ: text(occ),
    at: text(parameters.get('at')),
    dur: text(parameters.get('dur')),
    flaw: flawOfPath ?? flawOfParameters(parameters, rid, occ),
  };
}

function flawOfParameters(parameters: Parameters, rid: string | null, occ: string | null): Flaw {
  const flaw = (message: string) => ({ status: 400 as const, message });
  // Of the others an unreadable one is ignored, like one that says nothing: the run is what counts.
  if (['rid', 'occ', 'create'].some((name) => parameters.get(name) === null)) {
    return flaw('malformed percent-encoding in the query');
  }
  if (rid !== null && !UUID.test(rid)) return flaw(INVALID_RID);
  if (occ?.includes('\0')) return flaw('the occurrence key contains a NUL character');
  return null;
}
