import { sabotage } from './replace.ts';

// Only the refused message waits for its next turn; the others are sent as if nothing had been refused.
sabotage([{ file: 'src/carriers/throttle.ts', find: 'if (until !== 0) return;', put: 'return;' }]);
