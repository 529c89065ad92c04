import { sabotage } from './replace.ts';

// No restore guard: whatever the database has queued is sent.
sabotage([
  {
    file: 'src/messaging/restore-guard/decide.ts',
    find: "return settled ? { kind: 'adopt' }",
    put: "return true ? { kind: 'adopt' }",
  },
]);
