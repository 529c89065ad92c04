import { sabotage } from './replace.ts';

// The time has come, so it goes: a morning's offer at night, a week's after a week's outage.
sabotage([
  {
    file: 'src/network/dispatch/sql.ts',
    find: 'AND priority < ${claim.belowPriority} AND (NOT scheduled OR available_at > now() - ${MISSED_AFTER})',
    put: 'AND priority < ${claim.belowPriority}',
  },
]);
