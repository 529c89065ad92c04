import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      '{src,test,client,docs,examples}/**/*.test.ts',
      'proofs/**/*.test.ts',
      'bench/**/*.test.ts',
      'web/**/*.test.ts',
    ],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // What a test waits for comes in milliseconds; these bounds are for a machine that others use too.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A step of the browser that came to nothing, a moment too early or too late, is the one fault after which a test is
    // tried again, once; the report says so. Whatever else fails, fails.
    retry: { count: 1, condition: /^(locator|page)\.\w+: / },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['**/*.test.ts'],
      // Every SQL function is executed by a test on a real PostgreSQL.
      thresholds: { '**/sql.ts': { functions: 100 } },
    },
  },
});
