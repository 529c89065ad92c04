import { sabotage } from './replace.ts';

// A segment counts as archived without being copied anywhere: the archive has a hole.
sabotage([
  {
    file: 'src/platform/db/embedded/wal-archive.ts',
    find: "archive_library: 'basic_archive',",
    put: "archive_command: 'true',",
  },
]);
