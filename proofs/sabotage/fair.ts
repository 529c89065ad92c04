import { sabotage } from './replace.ts';

// One queue for all messages: only the turn-taking of accounts remains.
sabotage([
  {
    file: 'src/network/dispatch/sql.ts',
    find: 'priority: smallint,',
    put: 'priority: smallint(() => 1),',
  },
]);
