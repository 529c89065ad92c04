import type { Manner } from '../../test/support/receiver.ts';

/** All that cost more than an ordinary failure: those that take their time, and those that come too fast. */
export const SLOW = ['drip', 'silent', 'drip headers'] as const satisfies readonly Manner[];
export const FLOODING = [
  'endless',
  'header bomb',
  'gzip bomb',
  'interim answers',
  'chunk extensions',
] as const satisfies readonly Manner[];
