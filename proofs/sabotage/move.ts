import { sabotage } from './replace.ts';

// The rows of the queues are read where they were to be taken: both cells have them.
sabotage([
  {
    file: 'src/operations/account-move/rows.ts',
    find: 'WITH gone AS (DELETE FROM ${raw(table)} WHERE ${own(reading)} RETURNING *)',
    put: 'WITH gone AS (SELECT * FROM ${raw(table)} WHERE ${own(reading)})',
  },
]);
