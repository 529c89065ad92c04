import type { Manner } from '../../test/support/http/receiver.ts';

/** Manners that cost more than an ordinary failure: slow ones, and ones that flood. */
export const SLOW = ['drip', 'silent', 'drip headers'] as const satisfies readonly Manner[];
export const FLOODING = [
  'endless',
  'header bomb',
  'gzip bomb',
  'interim answers',
  'chunk extensions',
] as const satisfies readonly Manner[];
