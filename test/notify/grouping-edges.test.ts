import { expect, test } from 'vitest';
import type { Grouping } from '../../src/notify/channel.ts';
import { planMessage } from '../../src/notify/grouping.ts';
import { WORTH_MS } from '../../src/store/outbox.ts';
import { LEASE_MS, type WaitingRow } from '../../src/store/waiting.ts';

const noon = Date.parse('2026-03-01T12:00:00Z');
const at = (seconds: number): number => noon + seconds * 1000;

/** A row made at noon, for the incident of its own number. */
const row = (id: number, changes: Partial<WaitingRow> = {}): WaitingRow => ({
  id,
  incidentId: id,
  type: 'incident.opened',
  createdAt: noon,
  notBefore: at(5),
  lease: null,
  leaseUntil: null,
  messageId: null,
  attempts: 0,
  endedSilently: false,
  told: false,
  thread: null,
  ...changes,
});
/** One that was tried in this message and waits for the next attempt. */
const tried = (id: number, messageId: string, changes: Partial<WaitingRow> = {}) =>
  row(id, { messageId, attempts: 1, notBefore: at(20), ...changes });
const notice = { incidentId: null, type: 'notice' as const };
const plan = (rows: readonly WaitingRow[], seconds: number, grouping: Grouping = 'all', last: number | null = null) =>
  planMessage({ rows, lastAttemptAt: last }, at(seconds), grouping);

test('an attempt of this very instant is no clock that was set back', () => {
  expect(plan([row(1)], 5, 'all', at(5)).message).toBeNull();
  expect(plan([row(1, { createdAt: at(4) })], 4, 'all').message).toBeNull();
});

test('a delay of more than a day is void, one of a day is not', () => {
  expect(plan([row(1, { notBefore: noon + WORTH_MS })], 0).message).toBeNull();
  expect(plan([row(1, { notBefore: noon + WORTH_MS + 1 })], 0).message).not.toBeNull();
});

test('a lease that was taken this very instant holds', () => {
  expect(
    plan([tried(1, 'msg_a', { notBefore: noon, lease: 'somebody', leaseUntil: noon + LEASE_MS })], 0).message,
  ).toBeNull();
});

test('of several only the recovery whose problem went nowhere is left out', () => {
  const { message, givenUp } = plan([row(1), row(2, { type: 'incident.resolved' })], 5);
  expect([message?.rowIds, givenUp.map(({ id }) => id)]).toEqual([[1], [2]]);
});

test('a kind without threads has one message for all, whatever their threads', () => {
  expect(plan([row(1, { thread: 'a' }), row(2, { thread: 'b' })], 5).message?.rowIds).toEqual([1, 2]);
});

test('five threads are five messages, six are one', () => {
  const threads = ['a', 'b', 'c', 'd', 'e', 'f'].map((thread, i) => row(i + 1, { thread }));
  expect(plan(threads.slice(0, 5), 5, 'thread').message?.rowIds).toEqual([1]);
  expect(plan(threads, 5, 'thread').message?.rowIds).toEqual([1, 2, 3, 4, 5, 6]);
});

test('a message about several is begun anew one by one where the channel has come to keep an alert for each', () => {
  const rows = [tried(1, 'msg_a', { thread: 'a' }), tried(2, 'msg_a', { thread: 'b' })];
  expect(plan(rows, 20, 'incident').message).toEqual({ id: null, rowIds: [1] });
  expect(plan(rows, 20, 'thread').message).toEqual({ id: 'msg_a', rowIds: [1, 2] });
});

test('nothing joins a message of which the receiver may have a part', () => {
  const rows = [tried(1, 'msg_a', { lease: 'lost', leaseUntil: at(10) }), tried(2, 'msg_a'), row(3)];
  expect(plan(rows, 20).message).toEqual({ id: 'msg_a', rowIds: [1, 2] });
});

test('what belongs behind another message under way joins none, nor do the rows of that one', () => {
  const other = [tried(2, 'msg_b', { notBefore: at(60) }), tried(3, 'msg_b', { ...notice, notBefore: at(60) })];
  const rows = [tried(1, 'msg_a'), ...other, row(4, { incidentId: 2 }), row(5), row(6, notice)];
  expect(plan(rows, 20).message).toEqual({ id: 'msg_a', rowIds: [1, 5, 6] });
});

test('a stuck message is stuck though some of it joined it late, and keeps its notice', () => {
  const stuck = { attempts: 3, notBefore: at(60) };
  const rows = [tried(1, 'msg_a', stuck), tried(2, 'msg_a', { ...stuck, ...notice, attempts: 2 }), row(3)];
  expect(plan(rows, 20).message).toEqual({ id: null, rowIds: [3] });
});

test('what stands alone is a message of its own, first or not', () => {
  expect(plan([row(1, { isAlone: true }), row(2)], 5).message?.rowIds).toEqual([1]);
  expect(plan([row(1), row(2, { isAlone: true }), row(3)], 5).message?.rowIds).toEqual([1, 3]);
});
