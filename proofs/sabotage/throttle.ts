import { sabotage } from './replace.ts';

// Only the refused message waits for its next turn, and not even that; the others go on as if nothing had been said.
sabotage([{ file: 'src/carriers/throttle.ts', find: 'if (until !== 0) return;', put: 'return;' }]);
