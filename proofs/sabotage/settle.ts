import { sabotage } from './replace.ts';

// The number alone decides: whoever waits for a receipt from it longest gets it.
sabotage([
  { file: 'src/messaging/unknown-outcomes/name.ts', find: 'if (another !== undefined || ', put: 'if (' },
  {
    file: 'src/messaging/unknown-outcomes/name.ts',
    find: 'const contested = contestedIn(strays, named);',
    put: 'const contested = new Set<string>();',
  },
]);
