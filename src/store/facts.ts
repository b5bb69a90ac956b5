import type { Tx } from './database.ts';

/** Small facts of the installation, by name. */
export async function setFact(tx: Tx, name: string, value: string): Promise<void> {
  await tx.sql`
    insert into facts (name, value) values (${name}, ${value}) on conflict (name) do update set value = excluded.value`;
}

/**
 * A fact that many processes keep setting. Whoever finds it held by another one leaves it to that one: a stopped process
 * must not hold the others.
 */
export async function refreshFact(tx: Tx, name: string, value: string): Promise<void> {
  const { sql } = tx;
  const refreshed = await sql`
    update facts set value = ${value}
    where name = (select name from facts where name = ${name} for update skip locked) returning name`;
  if (refreshed.length > 0) return;
  await sql`
    insert into facts (name, value) select ${name}, ${value}
    where not exists (select from facts where name = ${name}) on conflict do nothing`;
}
