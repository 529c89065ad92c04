import { sabotage } from './replace.ts';

// What waits stays where it was: the cell that the account leaves sends no more for it, and the other one has nothing.
sabotage([
  {
    file: 'src/cells/copy.ts',
    find: '!isWork(table) && !STAYING.has(table.name)',
    put: "!isWork(table) && !STAYING.has(table.name) && table.name !== 'dispatch_chunk'",
  },
]);
