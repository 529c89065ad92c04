import { sabotage } from './replace.ts';

// A single send is written under a chunk that does not say so: the rescue of a dead process queues it again.
sabotage([{ file: 'src/dispatch/express.ts', find: 'intent: ids.length', put: 'intent: 0' }]);
