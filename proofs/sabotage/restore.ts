import { sabotage } from './replace.ts';

// No restore guard: whatever the database has queued is sent.
sabotage([
  {
    file: 'src/messages/restore-guard.ts',
    find: "return settled ? { kind: 'adopt' }",
    put: "return true ? { kind: 'adopt' }",
  },
]);
