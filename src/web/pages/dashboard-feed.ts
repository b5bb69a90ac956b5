import { readMarks } from '../../store/dashboard-mark.ts';
import { type Database, DatabaseUnavailable } from '../../store/database.ts';

/** Called with the mark of the project whenever it is another one than before. */
type OnMark = (mark: string) => void;

/** Says when something of a project has changed, to however many people look at it. */
export type ChangeFeed = {
  /** From now on `onMark` hears of changes since `since`; what it answers ends that. */
  watch(projectId: number, since: string | null, onMark: OnMark): () => void;
  /** One look at the database for everybody who watches. */
  look(): Promise<void>;
};

/** People see a change after so long at the latest. */
const EVERY_MS = 2000;

type Watcher = { readonly projectId: number; readonly onMark: OnMark; mark: string | null };

/**
 * One feed for a process: it asks the database once every two seconds, whatever number of people look, and never while
 * nobody does. While the database is away it says nothing, and what has changed by then is told once it is back.
 */
export function createChangeFeed(
  { database, log }: { readonly database: Database; readonly log: { error(fields: object, message: string): void } },
  everyMs = EVERY_MS,
): ChangeFeed {
  const watchers = new Set<Watcher>();
  let timer: NodeJS.Timeout | null = null;
  const look = async (): Promise<void> => {
    const ids = [...new Set([...watchers].map(({ projectId }) => projectId))];
    if (ids.length === 0) return;
    try {
      const marks = await database.transaction((tx) => readMarks(tx, ids));
      for (const watcher of watchers) tell(watcher, marks.get(watcher.projectId));
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) log.error({ error }, 'changes could not be looked for');
    }
  };
  // One look after the other: a slow database is not asked twice at once.
  const goOn = (): void => {
    timer = setTimeout(async () => {
      await look();
      timer = null;
      if (watchers.size > 0) goOn();
    }, everyMs).unref();
  };
  return {
    look,
    watch(projectId, since, onMark) {
      const watcher: Watcher = { projectId, onMark, mark: since };
      watchers.add(watcher);
      if (timer === null) goOn();
      return () => void watchers.delete(watcher);
    },
  };
}

function tell(watcher: Watcher, mark: string | undefined): void {
  if (mark === undefined || mark === watcher.mark) return;
  // Who came without a mark has just read everything.
  const isNews = watcher.mark !== null;
  watcher.mark = mark;
  if (isNews) watcher.onMark(mark);
}
