import { sabotage } from './replace.ts';

// A commit is answered before a standby has it: the next failover forgets it.
sabotage([
  {
    file: 'src/core/db/pool.ts',
    find: "plan_cache_mode: 'auto',",
    put: "plan_cache_mode: 'auto', synchronous_commit: 'local',",
  },
]);
