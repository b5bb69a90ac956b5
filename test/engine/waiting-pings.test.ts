import { expect, test } from 'vitest';
import type { IncomingPing } from '../../src/engine/ingest.ts';
import { createWaitingPings, type Waiting } from '../../src/engine/waiting-pings.ts';

let monotonic = 0;
const refused: string[] = [];

function ping(uuid: string, name: string): Waiting {
  const incoming = { target: { uuid }, source: name, arrivedMs: monotonic } as IncomingPing;
  return { incoming, resolve: () => undefined, reject: () => void refused.push(name) };
}

const names = (pings: readonly Waiting[]) => pings.map(({ incoming }) => incoming.source);
const many = (uuid: string, count: number) => Array.from({ length: count }, (_, i) => ping(uuid, `${uuid}${i}`));

test('a batch that fails is followed by one of half its size, and the size comes back in small steps', () => {
  const waiting = createWaitingPings(() => monotonic);
  const sizes: number[] = [];
  const take = () => {
    const batch = waiting.take();
    sizes.push(batch.length);
    return batch.length;
  };
  for (const one of many('a', 5000)) waiting.add(one);
  take();
  for (let i = 0; i < 3; i += 1) {
    waiting.failed(new Error('too slow'));
    take();
  }
  for (let i = 0; i < 3; i += 1) waiting.succeeded(take());
  expect(sizes).toEqual([500, 250, 125, 62, 62, 78, 98]);
  for (let i = 0; i < 12; i += 1) waiting.failed(new Error('too slow'));
  expect(take()).toBe(1);
  // A beat alone says nothing about how many pings can be committed.
  waiting.succeeded(0);
  expect(take()).toBe(1);
});

test('after a failure only those are refused who could not be answered in time', () => {
  const waiting = createWaitingPings(() => monotonic);
  refused.length = 0;
  waiting.add(ping('a', 'old'));
  const taken = [ping('b', 'old and taken')];
  monotonic += 5000;
  waiting.add(ping('a', 'young'));
  taken.push(ping('b', 'young and taken'));
  expect(names(waiting.failed(new Error('too slow'), taken))).toEqual(['young and taken']);
  expect(refused).toEqual(['old', 'old and taken']);
  expect(names(waiting.take())).toEqual(['young']);
});

test('pings of a locked job keep their order and leave room for the others', () => {
  const waiting = createWaitingPings(() => monotonic);
  const locked = many('locked', 600);
  for (const one of locked) waiting.add(one);
  waiting.hold(waiting.take());
  for (const one of [ping('locked', 'last'), ...many('free', 600)]) waiting.add(one);
  const batch = names(waiting.take());
  expect(batch.slice(0, 50)).toEqual(names(locked.slice(0, 50)));
  expect(batch.slice(50)).toEqual(names(many('free', 500)));
  // Those of the same job that came later go after them, however many batches that takes.
  const order = [...batch.filter((name) => name?.startsWith('locked'))];
  while (!waiting.isEmpty) order.push(...names(waiting.take()).filter((name) => !name?.startsWith('free')));
  expect(order).toEqual([...names(locked), 'last']);
});

test('a job may be locked for 12 s', () => {
  const waiting = createWaitingPings(() => monotonic);
  refused.length = 0;
  const held = [ping('a', 'held')];
  monotonic += 12_000;
  waiting.hold(held);
  expect([names(waiting.take()), refused]).toEqual([['held'], []]);
  monotonic += 1;
  waiting.hold(held);
  expect([names(waiting.take()), refused]).toEqual([[], ['held']]);
});
