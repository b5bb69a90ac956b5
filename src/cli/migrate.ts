import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';
import { connect } from '../store/database.ts';
import { startEmbedded } from '../store/embedded.ts';
import { migrate, migrationsFolder, waitForDatabase } from '../store/migrate.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/** How long a database may take that is starting as well. */
const PATIENCE_MS = 30_000;

/** `rollcall migrate`: brings the database to this version and ends. Nothing else is set up or started. */
export async function migrateOnly(config: Config, log: Logger, stop: AbortSignal): Promise<ExitCode> {
  const embedded = config.databaseUrl === null ? await startEmbedded(config.dataDir, log) : null;
  const database = connect(config.databaseUrl ?? embedded?.url ?? '', { max: 1 });
  try {
    if (config.databaseUrl !== null)
      await waitForDatabase(config.databaseUrl, log, AbortSignal.any([stop, AbortSignal.timeout(PATIENCE_MS)]));
    await migrate(database, migrationsFolder, log);
    log.info('the database is up to date');
    return EXIT.done;
  } finally {
    await database.close();
    await embedded?.stop();
  }
}
