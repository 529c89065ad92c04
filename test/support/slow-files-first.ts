import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that start whole programs, carriers or a browser: each takes longer than most other files together. */
const SLOW = /\/(test\/flows|web\/e2e)\//;

/** Starts the slow files first, so that no core is idle at the end of a run. */
export class SlowFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))];
  }
}

const isSlow = ({ moduleId }: TestSpecification): boolean => SLOW.test(moduleId);
