import { sabotage } from './replace.ts';

// The second copy is sent as if it were the first.
sabotage([
  {
    file: 'src/messages/settle.ts',
    find: 'possibleDuplicate: resubmit,',
    put: 'possibleDuplicate: false,',
  },
]);
