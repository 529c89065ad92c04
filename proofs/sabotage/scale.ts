import { sabotage } from './replace.ts';

// Whoever looks takes the work of all: nobody asks whether its owner still lives.
sabotage([
  {
    file: 'src/dispatch/store.ts',
    find: "sql`owner IS NOT NULL AND NOT ${isOwnerAlive(raw('c.owner'))}`",
    put: 'sql`owner IS NOT NULL`',
  },
]);
