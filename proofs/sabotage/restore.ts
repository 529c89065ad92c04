import { sabotage } from './replace.ts';

// No fence: whatever the database has queued is sent.
sabotage([
  {
    file: 'src/messaging/restore-guard/judge.ts',
    find: "return settled ? { kind: 'adopt' }",
    put: "return true ? { kind: 'adopt' }",
  },
]);
