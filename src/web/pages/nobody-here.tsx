import type { FC } from 'hono/jsx';
import { type Database, DatabaseUnavailable } from '../../store/database.ts';
import { hasPeople } from '../../store/people.ts';

/** Whether nobody has an account yet. Somebody's is the end of it: from then on nothing is asked of the database. */
export function createIsNobodyHere(database: Database): () => Promise<boolean> {
  let isSomebody = false;
  return async () => {
    try {
      if (!isSomebody) isSomebody = await database.transaction(hasPeople);
      return !isSomebody;
    } catch (error) {
      // A hint is no reason not to show the page.
      if (error instanceof DatabaseUnavailable) return false;
      throw error;
    }
  };
}

/** How the first person gets in. */
export const NobodyHere: FC = () => (
  <p class="notice">
    Nobody has an account yet: open the link that the first start printed (also in <code>DATA_DIR/first-run.json</code>
    ), or run <code>rollcall sign-in-link</code> on the server.
  </p>
);
