import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Says who sent a request: the socket's peer, or behind trusted proxies whom they name. null when it cannot be read. */
export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string | null;

/**
 * The rule of TRUSTED_PROXIES (CIDRs or single addresses): when the peer is in it, the client is the right-most
 * X-Forwarded-For entry that is not; else the peer. Entries further left are the client's own claim and never believed.
 * Throws on a CIDR that cannot be read.
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const networks = trustedProxies.map(parseNetwork);
  const isTrusted = (address: string): boolean => networks.some((network) => contains(network, address));
  return (peer, forwardedFor) => {
    const neighbour = normaliseAddress(peer ?? '');
    if (neighbour === null || !isTrusted(neighbour)) return neighbour;
    const entries = (forwardedFor ?? '').split(',').filter((entry) => entry.trim() !== '');
    for (const entry of entries.reverse()) {
      const address = normaliseAddress(entry);
      if (address === null || !isTrusted(address)) return address;
    }
    return neighbour;
  };
}

/** One spelling per address: without port, brackets, zone and `::ffff:`; null for anything that is not an address. */
export function normaliseAddress(text: string): string | null {
  const trimmed = text.trim().replace(/^"(.*)"$/, '$1');
  const bare =
    /^\[([^\]]+)\](?::\d{1,5})?$/.exec(trimmed)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(trimmed)?.[1] ?? trimmed;
  const address = bare.replace(/%.*$/, '');
  if (isIP(address) === 0) return null;
  return ipaddr.process(address).toString();
}

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

function parseNetwork(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function contains([base, bits]: Network, address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.kind() !== base.kind()) return false;
  return parsed.match(base, bits);
}
