import { sabotage } from './replace.ts';

// The WAL that was written while the cluster was copied is missing, so the copy cannot be made whole.
sabotage([
  {
    file: 'src/platform/db/embedded/backups/create.ts',
    find: 'one >= firstSegment && one <= lastSegment',
    put: 'one > lastSegment',
  },
]);
