import type { Instant } from '../../core/time.ts';
import type { ReadStatusView } from '../../engine/status-pages.ts';
import type { StatusView } from '../../engine/status-pages-view.ts';
import { type Database, DatabaseUnavailable } from '../../store/database.ts';
import { findStatusPage, type StoredStatusPage } from '../../store/status-pages.ts';

/** A page as it was read at `now`; what it shows is read when it is first asked for. */
export type OpenPage = {
  readonly page: StoredStatusPage;
  readonly now: Instant;
  view(): Promise<{ readonly view: StatusView; readonly isStale: boolean }>;
};

export type OpenPages = {
  /** The page of this slug; null: there is none. A crowd costs one reading every five seconds. */
  open(slug: string): Promise<OpenPage | null>;
};

export type OpenPagesDeps = {
  readonly database: Database;
  readonly readView: ReadStatusView;
  /** Milliseconds of a clock that never jumps. */
  readonly monotonic: () => number;
};

const FRESH_MS = 5000;
/** While the database is away, what was read last is shown for so long, and said to be old. */
const STALE_MS = 600_000;
const MOST_PAGES = 1000;

type Kept = { readonly at: number; readonly opened: Promise<OpenPage | null> };
type Last = { readonly at: number; readonly page: StoredStatusPage; readonly now: Instant; view: StatusView | null };

export function createOpenPages({ database, readView, monotonic }: OpenPagesDeps): OpenPages {
  const kept = new Map<string, Kept>();
  const last = new Map<string, Last>();

  /** What was read last, where the database is away and it is not too old; else the trouble itself. */
  function lastOf(slug: string, error: unknown): Last {
    const known = last.get(slug);
    if (error instanceof DatabaseUnavailable && known && monotonic() - known.at < STALE_MS) return known;
    throw error;
  }

  async function read(slug: string): Promise<OpenPage | null> {
    try {
      const found = await database.transaction(async (tx) => ({ page: await findStatusPage(tx, slug), now: tx.now }));
      const { page, now } = found;
      // Slugs that lead nowhere are not remembered: there are more of them than memory.
      if (page === null) {
        last.delete(slug);
        return null;
      }
      return { page, now, view: once(() => readOf(slug, page, now)) };
    } catch (error) {
      const { page, now, view } = lastOf(slug, error);
      if (view === null) throw error;
      return { page, now, view: async () => ({ view, isStale: true }) };
    }
  }

  async function readOf(slug: string, page: StoredStatusPage, now: Instant) {
    try {
      const view = await readView(page);
      keep(last, slug, { at: monotonic(), page, now, view });
      return { view, isStale: false };
    } catch (error) {
      const { view, page: was } = lastOf(slug, error);
      // Not what another definition showed.
      if (view === null || JSON.stringify(was) !== JSON.stringify(page)) throw error;
      return { view, isStale: true };
    }
  }

  return {
    async open(slug) {
      const known = kept.get(slug);
      if (known && monotonic() - known.at < FRESH_MS) return known.opened;
      const opened = read(slug);
      keep(kept, slug, { at: monotonic(), opened });
      // What failed or is not there is asked for again by the next request.
      const forget = (): void => {
        if (kept.get(slug)?.opened === opened) kept.delete(slug);
      };
      opened.then((page) => page === null && forget(), forget);
      return opened;
    },
  };
}

/** What failed is tried again at the next request. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | null = null;
  return () => {
    if (result) return result;
    const begun = work();
    result = begun;
    begun.catch(() => {
      result = null;
    });
    return begun;
  };
}

function keep<T>(map: Map<string, T>, slug: string, value: T): void {
  map.delete(slug);
  map.set(slug, value);
  const [oldest] = map.keys();
  if (map.size > MOST_PAGES && oldest !== undefined) map.delete(oldest);
}
