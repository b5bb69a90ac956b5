import { expect, test } from 'vitest';
import { planMessage } from '../../src/notify/grouping.ts';
import type { WaitingRow } from '../../src/store/waiting.ts';

const noon = Date.parse('2026-03-01T12:00:00Z');
const at = (seconds: number): number => noon + seconds * 1000;

/** A row made at noon, for incident 1. */
function row(id: number, changes: Partial<WaitingRow> = {}): WaitingRow {
  const createdAt = changes.createdAt ?? noon;
  return {
    id,
    incidentId: 1,
    type: 'incident.opened',
    createdAt,
    notBefore: createdAt + 5000,
    lease: null,
    leaseUntil: null,
    messageId: null,
    attempts: 0,
    endedSilently: false,
    told: false,
    thread: null,
    ...changes,
  };
}
const plan = (rows: readonly WaitingRow[], seconds: number, lastAttemptAt: number | null = null) =>
  planMessage({ rows, lastAttemptAt }, at(seconds));
const tried = (id: number, changes: Partial<WaitingRow> = {}) =>
  row(id, { messageId: 'msg_a', attempts: 1, notBefore: at(20), ...changes });

test('a message leaves 5 s after its first row, with every row that waits by then', () => {
  const rows = [row(1), row(2, { incidentId: 2, createdAt: at(4) })];
  expect(plan(rows, 4.999).message).toBeNull();
  expect(plan(rows, 5).message).toEqual({ id: null, rowIds: [1, 2] });
});

test('nobody else sends while a lease runs, and a lost lease is taken up with the same id', () => {
  const leased = tried(1, { notBefore: at(5), lease: 'somebody', leaseUntil: at(35) });
  expect(plan([leased, row(2, { incidentId: 2 })], 34.9).message).toBeNull();
  expect(plan([leased], 35).message).toEqual({ id: 'msg_a', rowIds: [1] });
});

test('a lease longer than a lease is void: the clock was set back', () => {
  const leased = tried(1, { createdAt: at(0), notBefore: at(5), lease: 'somebody', leaseUntil: at(3600) });
  expect(plan([leased], 10).message).toEqual({ id: 'msg_a', rowIds: [1] });
});

test('no delay outlives a clock that was set back', () => {
  expect(plan([tried(1, { notBefore: at(4500) })], 60, at(3600)).message).toEqual({ id: 'msg_a', rowIds: [1] });
  expect(plan([row(1, { createdAt: at(3600) })], 0).message).toEqual({ id: null, rowIds: [1] });
});

test('at most one message a second', () => {
  expect(plan([row(1)], 10, at(9.5)).message).toBeNull();
  expect(plan([row(1)], 10.5, at(9.5)).message).not.toBeNull();
});

test('a problem that ends before it was delivered is told together with its end', () => {
  const end = row(2, { type: 'incident.resolved', createdAt: at(10) });
  expect(plan([row(1), end], 15).message).toEqual({ id: null, rowIds: [1, 2] });
  expect(plan([tried(1), end], 20).message).toEqual({ id: 'msg_a', rowIds: [1, 2] });
  expect(plan([tried(1, { attempts: 9 }), end], 20).message).toEqual({ id: 'msg_a', rowIds: [1, 2] });
});

test('nothing is added to a message that the receiver may have; what belongs behind it waits', () => {
  const sealed = tried(1, { lease: 'left behind', leaseUntil: at(10) });
  const end = row(2, { type: 'incident.resolved', createdAt: at(10) });
  expect(plan([sealed, end], 20).message).toEqual({ id: 'msg_a', rowIds: [1] });
  expect(plan([{ ...sealed, attempts: 9 }, end], 19)).toEqual({ givenUp: [], message: null });
});

test('while a message waits for its next attempt, newer rows join it instead of going out beside it', () => {
  const newer = row(2, { incidentId: 2, createdAt: at(10) });
  expect(plan([tried(1), newer], 19).message).toBeNull();
  expect(plan([tried(1), newer], 20).message).toEqual({ id: 'msg_a', rowIds: [1, 2] });
});

test('a message on which the receiver chokes does not silence the rest', () => {
  const stuck = tried(1, { attempts: 3, notBefore: at(60) });
  const newer = row(2, { incidentId: 2, createdAt: at(10) });
  expect(plan([stuck, newer], 20).message).toEqual({ id: null, rowIds: [2] });
  // Never a third message: what a dead receiver missed must not come one by one.
  const second = tried(2, { incidentId: 2, messageId: 'msg_b', attempts: 3, notBefore: at(60) });
  expect(plan([stuck, second, row(3, { incidentId: 3 })], 30).message).toBeNull();
});

test('a receiver that asked to be left alone is, by every message', () => {
  const asked = tried(1, { attempts: 3, notBefore: at(600), leaseUntil: at(600) });
  const newer = row(2, { incidentId: 2, createdAt: at(10) });
  expect(plan([asked, newer], 300).message).toBeNull();
  expect(plan([asked, newer], 600).message?.rowIds).toEqual([1]);
});

test('a recovery goes only where the problem went', () => {
  const end = row(2, { type: 'incident.resolved' });
  expect(plan([end], 5)).toMatchObject({ message: null, givenUp: [{ id: 2, state: 'withheld' }] });
  expect(plan([{ ...end, told: true }], 5)).toEqual({ message: { id: null, rowIds: [2] }, givenUp: [] });
});

test('a problem that ended silently is not told any more', () => {
  const rows = [row(1, { endedSilently: true }), row(2, { incidentId: 2 })];
  const { message, givenUp } = plan(rows, 5);
  expect(message?.rowIds).toEqual([2]);
  expect(givenUp).toMatchObject([{ id: 1, state: 'withheld', reason: expect.stringContaining('silently') }]);
});

test('after a day a row is given up, and what came later goes on', () => {
  const rows = [tried(1), tried(2, { createdAt: at(60) })];
  const { message, givenUp } = plan(rows, 86_400);
  expect(givenUp).toMatchObject([{ id: 1, state: 'expired' }]);
  expect(message).toEqual({ id: 'msg_a', rowIds: [2] });
});

test('a kind that keeps an alert for each incident gets one message for each, the oldest first', () => {
  const of = (rows: readonly WaitingRow[], seconds: number) =>
    planMessage({ rows, lastAttemptAt: null }, at(seconds), 'incident').message;
  const end = row(3, { type: 'incident.resolved' });
  const notices = [row(4, { incidentId: null, type: 'notice' }), row(5, { incidentId: null, type: 'notice' })];
  expect(of([row(1), row(2, { incidentId: 2 }), end], 5)).toEqual({ id: null, rowIds: [1, 3] });
  expect(of([row(2, { incidentId: 2 }), ...notices], 5)).toEqual({ id: null, rowIds: [2] });
  expect(of(notices, 5)).toEqual({ id: null, rowIds: [4] });
  const newer = [
    row(2, { createdAt: at(10), type: 'incident.reminded' }),
    row(3, { incidentId: 2, createdAt: at(10) }),
  ];
  expect(of([tried(1), ...newer], 20)).toEqual({ id: 'msg_a', rowIds: [1, 2] });
});

test('a storm of 2,000 incidents is planned one by one, each in a moment', () => {
  const storm = Array.from({ length: 2000 }, (_, i) => row(i + 1, { incidentId: i + 1 }));
  for (const first of [0, 1000, 1999]) {
    const plan = planMessage({ rows: storm.slice(first), lastAttemptAt: at(4) }, at(5), 'incident');
    expect(plan).toEqual({ givenUp: [], message: { id: null, rowIds: [first + 1] } });
  }
});

test('a kind with threads gets one message for each thread, and one about all when there are many', () => {
  const of = (rows: readonly WaitingRow[]) =>
    planMessage({ rows, lastAttemptAt: null }, at(5), 'thread').message?.rowIds;
  const reply = (id: number, thread: string | null) => row(id, { incidentId: id, told: true, thread });
  expect(of([reply(1, 'a'), reply(2, 'b'), reply(3, 'a'), reply(4, null)])).toEqual([1, 3]);
  expect(of([reply(4, null), reply(5, null), reply(1, 'a')])).toEqual([4, 5]);
  expect(of(['a', 'b', 'c', 'd', 'e', 'f'].map((thread, i) => reply(i + 1, thread)))).toEqual([1, 2, 3, 4, 5, 6]);
});
