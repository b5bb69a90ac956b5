import { compileWindow, concerns, type MaintenanceDefinition, type Window } from '../core/maintenance.ts';
import type { Instant } from '../core/time.ts';
import type { Tx } from '../store/database.ts';
import { listWindows } from '../store/maintenance.ts';
import type { StatusJob } from '../store/status-pages-reading.ts';
import { orUtc, type ZoneSource } from '../store/version-zones.ts';

/** A stretch of a window in which silence is no trouble. `name` and `reason` null: the page does not tell. */
export type ShownStretch = {
  readonly from: Instant;
  readonly until: Instant;
  /** A calendar: nothing is expected then. Else somebody works on something. */
  readonly isCalendar: boolean;
  readonly name: string | null;
  readonly reason: string | null;
  readonly jobIds: readonly number[];
};

const MOST_WINDOWS = 500;
const MOST_OF_ONE = 31;
const MOST_SHOWN = 100;

/** Reads what is under way and what begins by `until`, by its beginning: at most 31 stretches of a window, 100 in all. */
export type ReadStretches = (
  tx: Tx,
  projectId: number,
  of: { readonly jobs: readonly StatusJob[]; readonly until: Instant; readonly showReasons: boolean },
) => Promise<readonly ShownStretch[]>;

/** Windows are compiled once: the years of a calendar cost more than the page. */
export function createReadStretches(zones: ZoneSource): ReadStretches {
  const kept = new Map<number, ReadonlyMap<number, Window>>();
  return async (tx, projectId, { jobs, until, showReasons }) => {
    const stored = await listWindows(tx, projectId, { after: null, limit: MOST_WINDOWS });
    const known = kept.get(projectId);
    const windows = new Map(stored.map(({ id, definition }) => [id, known?.get(id) ?? compiled(zones, definition)]));
    kept.set(projectId, windows);
    return stored
      .flatMap(({ id, definition }) => {
        const jobIds = jobs.filter((job) => concerns(definition, job)).map((job) => job.id);
        const window = windows.get(id);
        if (jobIds.length === 0 || !window) return [];
        return stretchesOf(window, tx.now, until).map(({ from, until: end, summary }) => ({
          from,
          until: end,
          isCalendar: definition.when.kind === 'calendar',
          name: showReasons ? summary || definition.name : null,
          reason: showReasons ? definition.reason || null : null,
          jobIds,
        }));
      })
      .sort((a, b) => a.from - b.from)
      .slice(0, MOST_SHOWN);
  };
}

/** A window that makes no sense holds nothing. */
function compiled(zones: ZoneSource, { when }: MaintenanceDefinition): Window {
  try {
    return compileWindow(when, (name) => orUtc(zones.get(name)));
  } catch {
    return { around: () => null, next: () => null };
  }
}

function stretchesOf(window: Window, now: Instant, until: Instant) {
  const current = window.around(now);
  const found = current ? [current] : [];
  let next = window.next(now);
  while (next !== null && next.from <= until && found.length < MOST_OF_ONE) {
    found.push(next);
    next = window.next(next.from);
  }
  return found;
}
