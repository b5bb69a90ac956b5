import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTail } from '../../src/exec/tail.ts';

function tailOf(bytes: Uint8Array, limit: number, chunk: number): Uint8Array {
  const tail = createTail(limit);
  for (let at = 0; at < bytes.length; at += chunk) tail.push(bytes.subarray(at, at + chunk));
  return tail.bytes();
}

test('the tail of a text is the end of it in whole characters, and lacks less than one', () => {
  void fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 9 }),
      (text, limit, chunk) => {
        const bytes = Buffer.from(text);
        const tail = Buffer.from(tailOf(bytes, limit, chunk));
        expect(tail.length).toBeLessThanOrEqual(limit);
        expect(bytes.subarray(bytes.length - tail.length).equals(tail)).toBe(true);
        // Below four bytes there may be no room for one character.
        if (limit >= 4 && !text.includes('\ufffd')) expect(tail.toString()).not.toContain('\ufffd');
        expect(tail.length).toBeGreaterThan(Math.min(bytes.length, limit) - 4);
      },
    ),
  );
});

test('bytes that are no text are kept as they are', () => {
  const bytes = new Uint8Array(100).fill(0x80);
  expect([...tailOf(bytes, 10, 7)]).toEqual(Array.from({ length: 10 }, () => 0x80));
});

test('what fits is kept whole', () => {
  expect(Buffer.from(tailOf(Buffer.from('äö'), 4, 1)).toString()).toBe('äö');
  expect(tailOf(new Uint8Array(), 4, 1)).toHaveLength(0);
});
