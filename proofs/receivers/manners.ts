import type { Manner } from '../../src/testing/receiver.ts';

/** The first part of the path of a receiver: this, or the manner that it puts on. */
export const HEALTHY = 'healthy';

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
