import { sabotage } from './replace.ts';

// As in programs that check the status before, and not in, the statement that deletes.
sabotage([
  {
    file: 'src/engagement/campaigns/lifecycle/sql.ts',
    find: "DELETE FROM campaign WHERE ${of(one)} AND ${statusAllows('delete')}",
    put: 'DELETE FROM campaign WHERE ${of(one)}',
  },
]);
