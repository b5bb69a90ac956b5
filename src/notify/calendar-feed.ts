import { request } from 'undici';
import { parsed, type Result, refused } from '../core/time.ts';
import type { ChannelContext } from './channel.ts';
import { ATTEMPT_MS, agentFor, readUrl, troubleOf } from './outbound.ts';

/** As large as the largest calendar may be. */
const MOST_BYTES = 1_000_000;
const MOST_REDIRECTS = 3;

/**
 * Reads a text from a URL that a person gave, under the same guard as every message that goes out: https to public
 * addresses, or what OUTBOUND_ALLOW lists. Follows three redirects, each under the guard. A reason for people where it
 * cannot, without anything of what answered. Never throws.
 */
export function createFetchText(context: ChannelContext): (url: string) => Promise<Result<string>> {
  return async (text) => {
    const signal = AbortSignal.timeout(ATTEMPT_MS);
    let at = text;
    for (let hops = 0; hops <= MOST_REDIRECTS; hops += 1) {
      const url = readUrl(at, context);
      if (!url.ok) return hops === 0 ? url : refused(`leads to an address that is not allowed: ${url.reason}`);
      const got = await get(url.value, context, signal);
      if ('result' in got) return got.result;
      at = got.movedTo;
    }
    return refused(`more than ${MOST_REDIRECTS} redirects`);
  };
}

type Got = { readonly result: Result<string> } | { readonly movedTo: string };

async function get(url: URL, context: ChannelContext, signal: AbortSignal): Promise<Got> {
  try {
    const { statusCode, headers, body } = await request(url, {
      headers: { accept: 'text/calendar, */*', 'accept-encoding': 'identity', 'user-agent': 'Rollcall' },
      signal,
      dispatcher: agentFor(context, url.protocol === 'http:'),
    });
    // A body that is given up emits an error, and one that nobody hears ends the process.
    body.on('error', () => undefined);
    if (statusCode === 200) return { result: await textOf(body) };
    body.destroy();
    const { location } = headers;
    const isMoved =
      statusCode >= 300 && statusCode < 400 && typeof location === 'string' && URL.canParse(location, url.href);
    return isMoved ? { movedTo: new URL(location, url.href).href } : { result: refused(`HTTP ${statusCode}`) };
  } catch (error) {
    const trouble = troubleOf(error, signal);
    return { result: refused(trouble.outcome === 'delivered' ? 'no answer' : trouble.reason) };
  }
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<Result<string>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    // Leaving the loop destroys the body.
    if (size > MOST_BYTES) return refused('the answer is larger than 1 MB');
  }
  try {
    return parsed(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    return refused('the answer is not UTF-8 text');
  }
}
