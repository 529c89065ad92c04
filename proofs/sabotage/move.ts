import { sabotage } from './replace.ts';

// What waits stays where it was: the cell that the account leaves sends no more for it, and the other one has nothing.
sabotage([
  {
    file: 'src/operations/account-move/rows.ts',
    find: 'WITH gone AS (DELETE FROM ${raw(table)} WHERE ${own(reading)} RETURNING *)',
    put: 'WITH gone AS (SELECT * FROM ${raw(table)} WHERE ${own(reading)} AND false)',
  },
]);
