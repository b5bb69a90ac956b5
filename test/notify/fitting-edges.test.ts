import { expect, test } from 'vitest';
import { fitted, type Piece, textMessage } from '../../src/notify/fitting.ts';
import type { Part, Story } from '../../src/notify/story.ts';
import type { Rest, Wording } from '../../src/notify/wording.ts';

const story = (title: string, ...parts: readonly Part[]): Story => ({
  mood: 'problem',
  label: 'missing',
  title,
  parts,
});
const words = (stories: readonly Story[], rest: readonly Rest[] = [], others: Rest | null = null): Wording => ({
  subject: '',
  headline: '',
  stories,
  rest,
  others,
  link: '',
});
const facts = (...texts: readonly string[]): Part => ({
  kind: 'facts',
  facts: texts.map((text) => ({ label: 'a', text })),
});
const named = (mood: Rest['mood'], ...names: readonly string[]): Rest => ({ label: mood, names, mood });

/** Every character counts one, and labels count nothing. */
const textOf = (piece: Piece): string => piece.text;
const on = (room: number, all: Wording) => fitted(all, { write: textOf, size: (text) => text.length, room });

const A40 = 'a'.repeat(40);
const B40 = 'b'.repeat(40);

test('the titles of two share 60 % of the room, and what is cut says so', () => {
  const all = words([story(A40), story(B40)]);
  expect(on(100, all).written).toEqual([`${'a'.repeat(29)}…`, `${'b'.repeat(29)}…`]);
  expect(on(134, all).written).toEqual([A40, B40]);
  expect(on(133, all).written).toEqual([`${'a'.repeat(38)}…`, `${'b'.repeat(38)}…`]);
});

test('one story has no title of its own, unless something stands below it', () => {
  expect(on(100, words([story(A40, facts('x'))])).written).toEqual(['x']);
  expect(on(100, words([story(A40, facts('x'))], [named('problem', 'n')])).written).toEqual([A40, 'x', 'n']);
});

test('a title is cut to 20 characters at the shortest: with less room it is left out', () => {
  const two = (room: number) => on(room, words([story(A40), story(B40)]));
  expect(two(70)).toEqual({ written: [`${'a'.repeat(20)}…`, `${'b'.repeat(20)}…`], isShort: false });
  expect(two(69)).toEqual({ written: [], isShort: true });
});

test('names: as many as fit, and how many more there are', () => {
  const names = (room: number) => on(room, words([], [named('problem', 'one', 'two', 'three')])).written;
  expect(names(19)).toEqual(['one, two, three']);
  expect(names(14)).toEqual(['one and 2 more']);
  expect(names(13)).toEqual([]);
  expect(on(19, words([], [named('problem', 'one', 'two', 'three', 'four')])).written).toEqual(['one, two and 2 more']);
});

test('what else is open comes first to the room, then names of ends, and all stand where they stood', () => {
  const back = named('recovered', 'ok');
  const lost = named('problem', 'x'.repeat(10), 'y'.repeat(10));
  // 24 are left: the end may take half of it and takes 2, so the other has all it needs.
  expect(on(24, words([], [lost, back])).written).toEqual([`${'x'.repeat(10)}, ${'y'.repeat(10)}`, 'ok']);
  const also = named('notice', 'zz');
  expect(on(26, words([], [lost, back], also)).written).toEqual([`${'x'.repeat(10)}, ${'y'.repeat(10)}`, 'ok', 'zz']);
  expect(on(25, words([], [lost, back], also)).written).toEqual([`${'x'.repeat(10)} and 1 more`, 'ok', 'zz']);
});

test('a detail that is larger than the share of its story is left out, though there is room, and so is what follows', () => {
  const all = words([story('a', facts('x'.repeat(60), 'y')), story('b', facts('z'))]);
  expect(on(102, all)).toEqual({ written: ['a', 'b', 'z'], isShort: true });
  expect(on(122, all)).toEqual({ written: ['a', 'x'.repeat(60), 'b', 'z'], isShort: true });
  expect(on(124, all)).toEqual({ written: ['a', 'x'.repeat(60), 'y', 'b', 'z'], isShort: false });
});

test('an output takes half of the room of its story; where that is not worth it, what follows stands alone', () => {
  const output = { kind: 'output' as const, text: `${'o'.repeat(199)}!` };
  const link = { kind: 'link' as const, text: 'look', url: 'https://rollcall.example.org/' };
  const at = (room: number) => on(room, words([story('t', output, link)])).written;
  expect(at(400)).toEqual([output.text, 'look']);
  expect(at(300)).toEqual([`…${'o'.repeat(148)}!`, 'look']);
  expect(at(162)).toEqual([`…${'o'.repeat(79)}!`, 'look']);
  expect(at(160)).toEqual(['look']);
});

test('an output is shown to its last 1,500 characters, and nothing is shown of an empty one', () => {
  const of = (text: string) => on(10_000, words([story('t', { kind: 'output', text }, facts('x'))])).written;
  expect(of('o'.repeat(1500))).toEqual(['o'.repeat(1500), 'x']);
  expect(of(`${'o'.repeat(1500)}!`)).toEqual([`…${'o'.repeat(1499)}!`, 'x']);
  expect(of(' \n')).toEqual(['x']);
});

test('a message of lines counts every line break, and leaves room for the longer foot', () => {
  const foot = (isShort: boolean) => (isShort ? 'more at rollcall' : 'rollcall');
  const message = (limit: number, head: string | null) =>
    textMessage(words([story('t', facts('one', 'two', 'six'))]), {
      limit,
      size: (text) => text.length,
      head,
      write: textOf,
      foot,
    });
  // 4 + 1 of the head, 16 of the foot, 3 + 1 of each line.
  expect(message(33, 'head')).toBe('head\none\ntwo\nsix\nrollcall');
  expect(message(32, 'head')).toBe('head\none\ntwo\nmore at rollcall');
  expect(message(28, null)).toBe('one\ntwo\nsix\nrollcall');
  expect(message(27, null)).toBe('one\ntwo\nmore at rollcall');
});

test('a message of lines begins with no empty one', () => {
  const style = { limit: 100, size: (text: string) => text.length, head: null, write: textOf, foot: () => 'foot' };
  expect(textMessage(words([story('t', facts('', '', 'one'))]), style)).toBe('one\nfoot');
});
