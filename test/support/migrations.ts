import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A throw-away folder of migrations in drizzle's format. */
export type MigrationsFolder = {
  readonly folder: string;
  /** The folder holds these from now on: the first is the oldest. */
  set(...migrations: readonly string[]): Promise<void>;
  remove(): Promise<void>;
};

export async function migrationsIn(...migrations: readonly string[]): Promise<MigrationsFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-migrations-'));
  await mkdir(join(folder, 'meta'));
  const set = async (...texts: readonly string[]): Promise<void> => {
    const entries = texts.map((_, idx) => ({
      idx,
      version: '7',
      when: 1000 + idx,
      tag: `000${idx}_step`,
      breakpoints: true,
    }));
    for (const [i, text] of texts.entries()) await writeFile(join(folder, `000${i}_step.sql`), text);
    await writeFile(
      join(folder, 'meta', '_journal.json'),
      JSON.stringify({ version: '7', dialect: 'postgresql', entries }),
    );
  };
  await set(...migrations);
  return { folder, set, remove: () => rm(folder, { recursive: true, force: true }) };
}
