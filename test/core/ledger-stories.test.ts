import { describe, expect, test } from 'vitest';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import { stories } from '../support/stories.ts';

describe('the ledger tells each story as the design does', () => {
  const zones = loadZones();
  test.each(stories)('$name', ({ history, expect: expected }) => {
    expect(fastLedger(history, zones)).toMatchObject(expected);
  });
});
