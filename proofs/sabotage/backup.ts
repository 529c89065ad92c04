import { sabotage } from './replace.ts';

// What is queued in a restored database is sent although its sending is paused.
sabotage([
  {
    file: 'src/messaging/restore-guard/decide.ts',
    find: "if (state === 'paused') return { kind: 'wait' };",
    put: "if (state === 'paused') return { kind: 'adopt' };",
  },
]);
