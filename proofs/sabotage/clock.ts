import { sabotage } from './replace.ts';

// Whatever is due is sent: a morning's offer at night, last week's offer after an outage.
sabotage([
  {
    file: 'src/network/dispatch/sql.ts',
    find: 'AND priority < ${belowPriority} AND (NOT scheduled OR available_at > now() - ${MISSED_AFTER})',
    put: 'AND priority < ${belowPriority}',
  },
]);
