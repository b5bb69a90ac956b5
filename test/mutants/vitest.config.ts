import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What tells much in little time comes first: a mutant is dead at its first failure. */
class QuickFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => Number(moduleId.includes('properties'));
    return [...files].sort((a, b) => isSlow(a) - isSlow(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

const NOTIFY = 'answers,fitting,grouping,outbound,pagerduty,slack,webhook,withholding,wording';

/** The tests of src/core and src/notify that need neither a database nor another process: what `npm run mutants` runs. */
export default defineConfig({
  test: {
    include: ['test/core/**/*.test.ts', `test/notify/{${NOTIFY}}{,-*}.test.ts`],
    exclude: ['test/core/schedule-host-zone.test.ts'],
    setupFiles: ['test/mutants/fewer-histories.ts'],
    env: { ROLLCALL_TEST_RUNS: '40' },
    sequence: { sequencer: QuickFirst },
    testTimeout: 60_000,
  },
});
