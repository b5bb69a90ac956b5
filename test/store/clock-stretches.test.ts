import { expect, test } from 'vitest';
import { type KnownWindow, takenBack } from '../../src/store/clock-stretches.ts';

const at = (time: string): number => Date.parse(`2026-03-02T${time}:00Z`);
const window = (cause: KnownWindow['cause'], after: string, until: string): KnownWindow => ({
  kind: 'blind',
  cause,
  after: at(after),
  until: at(until),
});
const written = (now: string, until: string, windows: readonly KnownWindow[], begun: string | null = '00:00') => {
  const result = takenBack({ now: at(now), until: at(until), begun: begun === null ? null : at(begun) }, windows);
  const list = (stretches: readonly { after: number; until: number }[]) =>
    stretches.map(({ after, until: end }) =>
      [after, end].map((instant) => new Date(instant).toISOString().slice(11, 16)).join('-'),
    );
  const from = result.undoneFrom === null ? null : new Date(result.undoneFrom).toISOString().slice(11, 16);
  return { lived: list(result.lived), undoneFrom: from };
};

test('what was lived comes again, silent or not; what was only jumped over comes for the first time', () => {
  expect(written('12:00', '13:00', [])).toEqual({ lived: ['12:00-13:00'], undoneFrom: null });
  expect(written('12:00', '13:00', [window('silent', '12:10', '12:30')])).toEqual({
    lived: ['12:00-13:00'],
    undoneFrom: null,
  });
  expect(written('12:05', '13:05', [window('skipped', '12:00', '13:00')])).toEqual({
    lived: ['13:00-13:05'],
    undoneFrom: '12:00',
  });
});

test('what was lived before it was jumped over was lived', () => {
  const windows = [window('repeated', '12:00', '12:30'), window('skipped', '12:10', '13:00')];
  expect(written('12:05', '13:00', windows)).toEqual({ lived: ['12:05-12:30'], undoneFrom: '12:30' });
});

test('overlapping jumps, and one that lies outside, count once', () => {
  const windows = [
    window('skipped', '11:00', '11:30'),
    window('skipped', '12:10', '12:30'),
    window('skipped', '12:20', '12:40'),
  ];
  expect(written('12:00', '13:00', windows)).toEqual({
    lived: ['12:00-12:10', '12:40-13:00'],
    undoneFrom: '12:10',
  });
});

test('nothing was lived before the installation was made', () => {
  expect(written('12:00', '13:00', [], '12:45')).toEqual({ lived: ['12:45-13:00'], undoneFrom: '12:00' });
});

test('a silence of over a day that is taken back was a wrong clock', () => {
  const long: KnownWindow = { kind: 'blind', cause: 'silent', after: at('12:00'), until: at('12:00') + 90_000_000 };
  const until = long.until + 60_000;
  expect(takenBack({ now: at('12:01'), until, begun: null }, [long])).toEqual({
    lived: [{ after: long.until, until }],
    undoneFrom: at('12:00'),
  });
});
