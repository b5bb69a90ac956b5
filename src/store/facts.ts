import type { Tx } from './database.ts';

/** Small facts of the installation, by name. */
export async function setFact(tx: Tx, name: string, value: string): Promise<void> {
  await tx.sql`
    insert into facts (name, value) values (${name}, ${value}) on conflict (name) do update set value = excluded.value`;
}
