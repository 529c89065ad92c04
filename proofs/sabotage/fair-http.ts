import { sabotage } from './replace.ts';

const file = 'src/network/dispatch/sql.ts';
// One queue for all messages, in the order of their arrival.
sabotage([
  { file, find: 'priority: smallint,', put: 'priority: smallint(() => 1),' },
  { file, find: 'round: NEXT_ROUND,', put: 'round: sql`0`,' },
]);
