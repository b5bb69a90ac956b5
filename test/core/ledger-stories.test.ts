import { describe, expect, test } from 'vitest';
import { loadZones } from '../../src/zones.ts';
import { fastLedger } from '../support/fast-ledger.ts';
import { stories } from '../support/stories.ts';
import { afterStories } from '../support/stories-after.ts';

describe('the ledger tells each story as the design does', () => {
  const zones = loadZones();
  test.each([...stories, ...afterStories])('$name', ({ history, expect: expected }) => {
    expect(fastLedger(history, zones)).toMatchObject(expected);
  });
});
