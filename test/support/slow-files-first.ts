import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The proofs take half an hour one after the other, as long as all other full tests together; the pages of the documentation
 * ten minutes and more.
 */
const SLOWEST = /\/(proofs\/\w+|docs\/blocks)\.full\./;
/** The files that start whole programs, carriers or a browser: each takes longer than most other files together. */
const SLOW = /\/(test\/flows|web\/e2e)\//;

/** Starts the slow files first, so that no core is idle at the end of a run. */
export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

const rankOf = ({ moduleId }: TestSpecification): number => (SLOWEST.test(moduleId) ? 0 : SLOW.test(moduleId) ? 1 : 2);
