import { existsSync } from 'node:fs';
import type { Config } from '../config.ts';
import type { Logger } from '../log.ts';
import { CannotStart } from '../store/cannot-start.ts';
import { connect } from '../store/database.ts';
import { startEmbedded } from '../store/embedded.ts';
import { runningDatabase } from '../store/embedded-running.ts';
import { hasPerson } from '../store/people.ts';
import { makeSignInLink } from '../store/sign-in-links.ts';
import { EXIT, type ExitCode, type Output } from './exit-codes.ts';

/**
 * `rollcall sign-in-link [EMAIL]`: for an owner, or with an address for anybody, who is locked out. Whoever may use the
 * database of this Rollcall gets a link that makes an owner, or gives that account a new password; no key of the API can. It
 * works beside a running Rollcall.
 */
export async function signInLink(
  email: string | null,
  { config, log, out, err }: Output & { readonly config: Config; readonly log: Logger },
): Promise<ExitCode> {
  const place = await openPlace(config, log);
  const database = connect(place.url, { max: 1 });
  try {
    const link = await database.transaction(async (tx) => {
      if (email === null) return makeSignInLink(tx, config.publicUrl, { kind: 'recovery' });
      if (!(await hasPerson(tx, email))) return null;
      return makeSignInLink(tx, config.publicUrl, { kind: 'password', email: email.toLowerCase() });
    });
    if (link !== null) out(`${link}\n`);
    else err(`rollcall: there is no account of ${email}: an owner can invite this address\n`);
    return link === null ? EXIT.notFound : EXIT.done;
  } catch (error) {
    throw isWithoutTables(error)
      ? new CannotStart('this database was not set up yet: start Rollcall once, which prints a link')
      : error;
  } finally {
    await database.close();
    await place.close();
  }
}

type Place = { readonly url: string; close(): Promise<void> };

async function openPlace({ databaseUrl, dataDir }: Config, log: Logger): Promise<Place> {
  if (databaseUrl !== null) return { url: databaseUrl, close: async () => undefined };
  if (!existsSync(dataDir)) throw new CannotStart(`there is no DATA_DIR ${dataDir}: set it as for serve`);
  const running = await runningDatabase(dataDir);
  if (running !== null) return { url: running, close: async () => undefined };
  const embedded = await startEmbedded(dataDir, log);
  return { url: embedded.url, close: () => embedded.stop() };
}

const isWithoutTables = (error: unknown): boolean => (error as { code?: unknown }).code === '42P01';
