import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import type { TestProjectInlineConfiguration } from 'vitest/config';
import { floorReporter } from './test/support/floor-reporter.ts';
import { SlowFilesFirst } from './test/support/slow-files-first.ts';

const TESTS = [
  '{src,test,client,docs,help,deploy,examples,integrations,monitoring,proofs,bench,scripts,web/src}/**/*.test.ts',
];
/** Too slow for every change: each page in every theme and width, each proof, each example of the documentation, whole set-ups. */
const EXHAUSTIVE = ['{src,test,client,docs,proofs,web,examples,deploy,monitoring}/**/*.full.test.ts'];
/**
 * Tests that run alone: the proofs that judge times, which other tests would disturb; and the installation of a
 * package, which would disturb others, because its system user is the one that every PostgreSQL started by root would
 * take.
 */
const ALONE = ['proofs/timed.full.test.ts', 'deploy/debian/package.full.test.ts'];
const BROWSER = ['web/e2e/**/*.test.ts'];
/** The browser tests of every change: signing in, sending, and what became of it. All run at night, with every layout. */
const BROWSER_IN_FAST = ['web/e2e/{sign-in,send,messages,styles,size,texts,audit-texts,help-links}.test.ts'];

const project = (
  name: string,
  test: Partial<NonNullable<TestProjectInlineConfiguration['test']>>,
): TestProjectInlineConfiguration => ({
  extends: true,
  test: { name, ...test },
});

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    reporters: ['default', floorReporter()],
    pool: 'forks',
    // Browsers and carriers keep tests waiting: three files more than there are cores run at a time. Much more than five
    // would need more connections than the PostgreSQL that they share allows.
    maxWorkers: Math.min(availableParallelism() + 3, 5),
    sequence: { sequencer: SlowFilesFirst },
    // Loading the program again for each of 350 files would cost more than all their tests.
    isolate: false,
    restoreMocks: true,
    // What a test waits for comes in milliseconds; these bounds are for a machine that others use too.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { interval: 20, timeout: 90_000 } },
    projects: [
      // `npm test`
      project('fast', {
        include: [...TESTS, ...BROWSER_IN_FAST],
        exclude: EXHAUSTIVE,
        provide: { everyLayout: false },
      }),
      // `npm run nightly`: what `fast` leaves out, and the browser tests again with every theme and width.
      // Each starts a whole installation, so there is work for the cores with fewer of them.
      project('full', {
        include: [...EXHAUSTIVE, ...BROWSER],
        exclude: ALONE,
        maxWorkers: Math.min(availableParallelism() + 1, 4),
        sequence: { groupOrder: 1 },
        provide: { everyLayout: true },
      }),
      // After all others, one at a time.
      project('timed', { include: ALONE, maxWorkers: 1, sequence: { groupOrder: 2 }, provide: { everyLayout: true } }),
    ],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['**/*.test.ts'],
      // Every SQL function is executed by a test on a real PostgreSQL.
      thresholds: { '**/*store.ts': { functions: 100 } },
    },
  },
});
