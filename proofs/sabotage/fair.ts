import { sabotage } from './replace.ts';

// One queue for all: only the turns of the accounts are left.
sabotage([
  {
    file: 'src/network/dispatch/sql.ts',
    find: 'priority: smallint((c) => c.priority),',
    put: 'priority: smallint(() => 1),',
  },
]);
