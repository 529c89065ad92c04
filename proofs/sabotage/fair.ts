import { sabotage } from './replace.ts';

const file = 'src/dispatch/store.ts';
// One queue for all messages, without priorities, and without turns of the accounts.
sabotage([
  { file, find: 'priority: smallint,', put: 'priority: smallint(() => 1),' },
  { file, find: 'round: NEXT_ROUND,', put: 'round: sql`0`,' },
]);
