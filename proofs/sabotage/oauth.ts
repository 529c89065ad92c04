import { sabotage } from './replace.ts';

sabotage([
  {
    file: 'src/engagement/social/sql.ts',
    find: 'DELETE FROM social_state s USING account a',
    put: 'UPDATE social_state s SET hash = s.hash FROM account a',
  },
]);
