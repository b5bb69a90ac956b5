import type { Instant } from '../core/time.ts';
import { WORTH_MS } from '../store/outbox.ts';
import { LEASE_MS, STUCK_AFTER, type Waiting, type WaitingRow } from '../store/waiting.ts';
import type { Grouping } from './channel.ts';

/** At most one message a second for each channel. */
const SPACING_MS = 1000;
/** With more threads than this at once a message about all of them says more than a reply in each. */
const MOST_THREADS = 5;

export type GivenUp = { readonly id: number; readonly state: 'withheld' | 'expired'; readonly reason: string };

/** What to do for one channel now: rows that end without a message, and the one message to send, if any is due. */
export type Plan = {
  readonly givenUp: readonly GivenUp[];
  readonly message: { readonly id: string | null; readonly rowIds: readonly number[] } | null;
};

/**
 * Chooses the next message of a channel from everything that waits for it, oldest first.
 *
 * A message keeps its id and its rows from its first attempt on. Only when the receiver certainly has not got it may rows
 * join it: so a problem that ends before it was delivered is told together with its end. Rows that fit into no message
 * under way wait for the next one; a second is begun beside one that is stuck, never a third: what a dead receiver
 * missed comes in a few messages, and one message that a receiver chokes on does not silence the rest.
 */
export function planMessage(
  { rows: all, lastAttemptAt, isDoubted = false }: Waiting,
  now: Instant,
  grouping: Grouping = 'all',
): Plan {
  // A rest longer than the delay itself: the clock was set back, and nobody can be made to wait by that.
  const isVoid = lastAttemptAt !== null && lastAttemptAt > now;
  const held = all.some((row) => isHeld(row, now, isVoid));
  const tooSoon = lastAttemptAt !== null && !isVoid && now - lastAttemptAt < SPACING_MS;
  if (held || tooSoon) return { givenUp: [], message: null };
  // A clock that nobody believes ends nothing.
  const ended = isDoubted ? [] : all.flatMap((row) => endOf(row, now, grouping));
  const endedIds = new Set(ended.map(({ id }) => id));
  const rows = all.filter(({ id, isGathering = false }) => !endedIds.has(id) && !isGathering);
  const isDue = ({ notBefore, createdAt }: WaitingRow): boolean =>
    isVoid || notBefore <= now || createdAt > now || notBefore - now > WORTH_MS;
  const chosen = retried(rows, isDue, grouping) ?? begun(rows, isDue, grouping);
  if (!chosen) return { givenUp: ended, message: null };
  const orphans = orphansOf(chosen.rows);
  const rowIds = chosen.rows.map(({ id }) => id).filter((id) => !orphans.some((orphan) => orphan.id === id));
  const message = rowIds.length === 0 ? null : { id: chosen.id, rowIds };
  return { givenUp: [...ended, ...orphans], message };
}

/** A sender has it, or the receiver asked to be left alone. A lease whose rest exceeds its length is void. */
function isHeld({ lease, leaseUntil }: WaitingRow, now: Instant, isVoid: boolean): boolean {
  if (leaseUntil === null || leaseUntil <= now) return false;
  return lease === null ? !isVoid : leaseUntil - now <= LEASE_MS;
}

function endOf(row: WaitingRow, now: Instant, grouping: Grouping): readonly GivenUp[] {
  const { id, type, createdAt, endedSilently, isMisplaced = false, told } = row;
  if (now - createdAt >= WORTH_MS) return [{ id, state: 'expired', reason: 'not delivered within 24 h' }];
  // Whoever made it a pager since wants no numbers of the month there.
  if (isMisplaced) {
    const reason = 'a report goes by e-mail only, and this channel is none any more';
    return [{ id, state: 'withheld', reason }];
  }
  if (!endedSilently) return [];
  // It closes an alert, and calls nobody.
  if (grouping === 'incident' && type === 'incident.resolved' && told) return [];
  const reason = 'the incident ended silently: its job was paused, or its occurrences moved to another incident';
  return [{ id, state: 'withheld', reason }];
}

type Chosen = { readonly id: string | null; readonly rows: readonly WaitingRow[] };

/** What may stand in one message with `lead`. */
function together(all: readonly WaitingRow[], lead: WaitingRow, grouping: Grouping): readonly WaitingRow[] {
  if (lead.isAlone) return [lead];
  const rows = all.filter(({ isAlone }) => !isAlone);
  if (grouping === 'all') return rows;
  if (grouping === 'incident')
    return rows.filter(
      ({ id, incidentId }) => id === lead.id || (incidentId !== null && incidentId === lead.incidentId),
    );
  const threads = new Set(rows.map(({ thread }) => thread));
  return threads.size > MOST_THREADS ? rows : rows.filter(({ thread }) => thread === lead.thread);
}

/** The oldest due message that was tried before, with what may join it. */
function retried(rows: readonly WaitingRow[], isDue: (row: WaitingRow) => boolean, grouping: Grouping): Chosen | null {
  const due = rows.find((row) => row.messageId !== null && isDue(row));
  if (!due) return null;
  const own = rows.filter((row) => row.messageId === due.messageId);
  const part = together(own, due, grouping);
  // Put together when the channel was of another kind: this one has no message about several.
  if (grouping === 'incident' && part.length < own.length) return { id: null, rows: part };
  const isSealed = own.some(({ lease }) => lease !== null);
  if (isSealed) return { id: due.messageId, rows: own };
  const mine = incidentsOf(own);
  const others = incidentsOf(rows.filter((row) => row.messageId !== null && row.messageId !== due.messageId));
  const isStuck = due.attempts >= STUCK_AFTER;
  const joins = ({ messageId, incidentId }: WaitingRow): boolean => {
    if (messageId !== null || (incidentId !== null && others.has(incidentId))) return false;
    return !isStuck || (incidentId !== null && mine.has(incidentId));
  };
  const candidates = rows.filter((row) => row.messageId === due.messageId || joins(row));
  const joined = new Set([...own, ...together(candidates, due, grouping)]);
  return { id: due.messageId, rows: candidates.filter((row) => joined.has(row)) };
}

/** A new message of everything that stands in no line behind a message under way. */
function begun(rows: readonly WaitingRow[], isDue: (row: WaitingRow) => boolean, grouping: Grouping): Chosen | null {
  const underWay = rows.filter(({ messageId }) => messageId !== null);
  const messages = new Set(underWay.map(({ messageId }) => messageId));
  const isFree = messages.size === 0 || (messages.size === 1 && underWay.some((row) => row.attempts >= STUCK_AFTER));
  if (!isFree) return null;
  const taken = incidentsOf(underWay);
  const fresh = rows.filter((row) => row.messageId === null && (row.incidentId === null || !taken.has(row.incidentId)));
  const lead = fresh.find(isDue);
  return lead ? { id: null, rows: together(fresh, lead, grouping) } : null;
}

function incidentsOf(rows: readonly WaitingRow[]): ReadonlySet<number> {
  return new Set(rows.flatMap(({ incidentId }) => (incidentId === null ? [] : [incidentId])));
}

/** A recovery goes only where the problem went: there before, or in this very message. */
function orphansOf(rows: readonly WaitingRow[]): readonly GivenUp[] {
  const problems = incidentsOf(rows.filter(({ type }) => type !== 'incident.resolved'));
  return rows
    .filter(({ type, told, incidentId }) => type === 'incident.resolved' && !told && !problems.has(incidentId ?? 0))
    .map(({ id }) => ({ id, state: 'withheld', reason: 'the problem itself was not delivered to this channel' }));
}
