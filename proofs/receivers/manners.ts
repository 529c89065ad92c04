import type { Manner } from '../../src/testing/receiver.ts';

/** All that cost more than an ordinary failure. */
export const MANNERS = [
  'endless',
  'drip',
  'header bomb',
  'gzip bomb',
  'silent',
  'drip headers',
  'interim answers',
  'chunk extensions',
] as const satisfies readonly Manner[];
