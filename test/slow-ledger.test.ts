import { describe, expect, test } from 'vitest';
import { loadZones } from '../src/zones.ts';
import { slowLedger } from './support/slow-ledger.ts';
import { stories } from './support/stories.ts';

describe('the slow ledger tells each story as the design does', () => {
  const zones = loadZones();
  for (const { name, history, expect: expected } of stories) {
    test(name, () => {
      expect(slowLedger(history, zones)).toMatchObject(expected);
    });
  }
});
