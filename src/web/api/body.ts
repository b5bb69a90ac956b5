import type { Context } from 'hono';

/** Larger bodies than this many bytes are refused: the largest definition of a job has a tenth of it. */
const MOST_BYTES = 256 * 1024;

export type JsonBody =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly status: 400 | 413; readonly detail: string };

/**
 * Reads a JSON object. An empty body counts as `{}`, whatever its type, so that the answer names what is required
 * (PNG-013). Never throws for what the client sent.
 */
export async function readJsonObject(c: Context, most = MOST_BYTES): Promise<JsonBody> {
  const bytes = await readBytes(c.req.raw.body, most);
  if (bytes === null) return { ok: false, status: 413, detail: `the body is larger than ${most} bytes` };
  if (bytes.length === 0) return { ok: true, value: {} };
  if (!isJsonType(c.req.header('content-type'))) {
    return refused('the body must be JSON: send the header Content-Type: application/json');
  }
  return parseObject(bytes);
}

function refused(detail: string): JsonBody {
  return { ok: false, status: 400, detail };
}

function isJsonType(header: string | undefined): boolean {
  const type = (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type);
}

function parseObject(bytes: Uint8Array): JsonBody {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refused('the body is not valid UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return refused(`the body is not valid JSON: ${error instanceof Error ? error.message : 'it cannot be read'}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { ok: true, value: value as Record<string, unknown> };
  }
  return refused('the body must be a JSON object, such as {"zone": "Europe/Berlin"}');
}

/** The whole body, or null when it is too large; reads no further than it must. */
async function readBytes(stream: ReadableStream<Uint8Array> | null, most: number): Promise<Uint8Array | null> {
  if (stream === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = stream.getReader();
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    chunks.push(chunk.value);
    length += chunk.value.length;
    if (length <= most) continue;
    await reader.cancel().catch(() => undefined);
    return null;
  }
  return Buffer.concat(chunks);
}
