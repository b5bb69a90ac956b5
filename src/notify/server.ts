import { parsed, type Result, refused } from '../core/time.ts';
import type { ChannelContext } from './channel.ts';
import { checkUrl } from './outbound.ts';

/**
 * Checks the base URL of a service that has several, or that people host themselves, as `checkUrl` does. Without a
 * trailing slash; null when none is given: the kind knows the usual one.
 */
export async function checkServer(
  text: string | undefined,
  context: Pick<ChannelContext, 'outboundAllow'>,
): Promise<Result<string | null>> {
  if (text === undefined) return parsed(null);
  const url = await checkUrl(text, context);
  if (!url.ok) return url;
  if (url.value.search) return refused('write the base URL without a query (?…)');
  return parsed(url.value.href.replace(/\/+$/, ''));
}
