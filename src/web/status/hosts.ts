import type { Database } from '../../store/database.ts';
import { readStatusHosts } from '../../store/status-pages.ts';

/** The slug of the page that this host name leads to; null: none. */
export type StatusHosts = (host: string) => Promise<string | null>;

const FRESH_MS = 5000;

/** Host names are few: all of them are read every five seconds, and stay as they were while the database is away. */
export function createStatusHosts(database: Database, monotonic: () => number): StatusHosts {
  let hosts: ReadonlyMap<string, string> = new Map();
  let at = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> = Promise.resolve();
  return async (host) => {
    if (monotonic() - at >= FRESH_MS) {
      at = monotonic();
      reading = database.transaction(readStatusHosts).then(
        (found) => {
          hosts = found;
        },
        () => undefined,
      );
    }
    await reading;
    return hosts.get(host) ?? null;
  };
}
