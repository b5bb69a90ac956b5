import { describe, expect, test } from 'vitest';
import { loadZones } from '../src/zones.ts';
import { slowLedger } from './support/slow-ledger.ts';
import { stories } from './support/stories.ts';

describe('the slow ledger tells each story as the design does', () => {
  const zones = loadZones();
  test.each(stories)('$name', ({ history, expect: expected }) => {
    expect(slowLedger(history, zones)).toMatchObject(expected);
  });
});
