import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Each of these files has a process of its own: it changes what belongs to the process, or to all tests in it. */
const ALONE = ['test/proof/**/*.test.ts', 'test/store/transaction.test.ts'];

const project = (name: string, own: TestProjectInlineConfiguration['test']): TestProjectInlineConfiguration => ({
  test: { name, testTimeout: 30_000, hookTimeout: 60_000, pool: 'forks', ...own },
});

/** What takes long comes first, so that nothing long is left for the end. */
const LONG = ['/test/browser/', '/test/engine/replay', '/test/engine/settings-replay', '/test/cli/', '/test/exec/'];

/** What takes long and mostly waits comes first, beside all the rest, which stays in the processes it has warmed up. */
class AloneFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project: { name }, moduleId }: TestSpecification) =>
      name === 'alone' ? 0 : LONG.some((path) => moduleId.includes(path)) ? 1 : 2;
    return (await super.sort(files)).sort((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/postgres.ts'],
    // One more than the cores of a small machine, for there is always one that waits.
    maxWorkers: 3,
    sequence: { sequencer: AloneFirst },
    projects: [
      project('alone', { include: ALONE }),
      // What a module of ours keeps is a cache of what never changes, or hangs on what a test has made: files may share it,
      // and most of what a file costs is to load them.
      project('shared', { include: ['test/**/*.test.ts'], exclude: ALONE, isolate: false }),
    ],
  },
});
