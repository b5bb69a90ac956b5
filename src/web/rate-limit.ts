/** Counts what each address did wrong; forgets over time. In this process only: every replica counts for itself. */
export type RateLimit = {
  /** Whether this address has used up its allowance. */
  isExhausted(address: string | null): boolean;
  /** Counts one. */
  count(address: string | null): void;
  /** Whole seconds until it is allowed the next one. */
  retryAfterSeconds(address: string | null): number;
};

export type RateLimitOptions = {
  /** How many in a row, from a standing start (60). */
  readonly burst?: number;
  /** How many a minute for ever (60). */
  readonly perMinute?: number;
  /** Addresses remembered at most (10,000): the one heard of longest ago is forgotten first. */
  readonly addresses?: number;
  readonly monotonic: () => number;
};

/** A leaking bucket per address, bounded in memory whatever arrives. */
export function createRateLimit({
  burst = 60,
  perMinute = 60,
  addresses = 10_000,
  monotonic,
}: RateLimitOptions): RateLimit {
  const buckets = new Map<string, { level: number; at: number }>();
  const msPerLeak = 60_000 / perMinute;
  const levelOf = (key: string): number => {
    const bucket = buckets.get(key);
    return bucket ? Math.max(0, bucket.level - (monotonic() - bucket.at) / msPerLeak) : 0;
  };
  return {
    isExhausted: (address) => levelOf(networkOf(address)) > burst - 1,
    count(address) {
      const key = networkOf(address);
      const level = Math.min(burst, levelOf(key) + 1);
      buckets.delete(key);
      buckets.set(key, { level, at: monotonic() });
      const [oldest] = buckets.keys();
      if (buckets.size > addresses && oldest !== undefined) buckets.delete(oldest);
    },
    retryAfterSeconds: (address) =>
      Math.max(1, Math.ceil(((levelOf(networkOf(address)) - burst + 1) * msPerLeak) / 1000)),
  };
}

/** An IPv6 host owns its /64: counted one by one it would have 2^64 allowances. */
function networkOf(address: string | null): string {
  if (address === null) return 'unknown';
  if (!address.includes(':')) return address;
  const [head = '', tail = ''] = address.split('::');
  const left = head.split(':').filter(Boolean);
  const right = tail.split(':').filter(Boolean);
  const groups = address.includes('::')
    ? [...left, ...new Array<string>(8 - left.length - right.length).fill('0'), ...right]
    : left;
  return groups.slice(0, 4).join(':');
}
