import type { Tx } from './database.ts';
import { isHeld } from './withholding.ts';

/** How long a message waits, at most, for jobs that were due before it. */
const LONGEST_MS = 30_000;

/**
 * Whether jobs that were due when the first row that waits for this channel was written are not judged yet: what was lost
 * together is told together, however many jobs there are and however busy the machine is. A message that was tried
 * before waits for nobody, and a job that is pushed back holds nobody up.
 */
export async function isGathering(tx: Tx, channelId: number): Promise<boolean> {
  const { sql, now } = tx;
  // Written in the future: the clock was set back, and nobody can be made to wait by that.
  const rows = await sql`
    select 1 from (
      select min(o.created_at) filter (where o.incident_id is not null and not ${isHeld(tx)}) as since
      from outbox o where o.channel_id = ${channelId} and o.state = 'waiting'
      having not bool_or(o.message_id is not null)) first
    where since > ${now - LONGEST_MS} and since <= ${now} and exists (
      select from cursors c where c.next_check_at <= since and (c.retry_at is null or c.retry_at <= ${now}))`;
  return rows.length > 0;
}
