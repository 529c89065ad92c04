/** What one process does with the tests of one file. */
export type Plan = {
  /** The file that the process adds its notes to, a line of JSON for each. */
  readonly notes: string;
  readonly testFile: string;
} & (
  | {
      /** Runs each test twice without a mutant, and notes what it calls. */
      readonly kind: 'cover';
    }
  | {
      /** Runs tests with one mutant after the other. */
      readonly kind: 'many';
      /** The ids of the mutants by the id of the test. */
      readonly mutants: Readonly<Record<string, readonly number[]>>;
    }
  | {
      /** Runs all tests with one mutant that is there when modules are loaded, until the first fails. */
      readonly kind: 'one';
      readonly mutant: number;
    }
);

/** What a process notes while it runs tests. */
export type Note =
  | {
      readonly kind: 'covered';
      readonly test: string;
      readonly passed: boolean;
      readonly durationMs: number;
      readonly hosts: readonly string[];
    }
  /** The hosts that ran while the file was loaded and prepared, for all of its tests. */
  | { readonly kind: 'shared'; readonly hosts: readonly string[] }
  | { readonly kind: 'started'; readonly mutant: number; readonly test: string }
  | { readonly kind: 'survived'; readonly mutant: number; readonly test: string }
  /** The test failed with the mutant and passed without it right after. */
  | { readonly kind: 'killed'; readonly mutant: number; readonly test: string }
  /** The test failed with the mutant and then without it: what the mutant did is still there. */
  | { readonly kind: 'spoilt'; readonly mutant: number; readonly test: string }
  /** All tests of the file have run. */
  | { readonly kind: 'ended'; readonly failed: string | null };
