import { sabotage } from './replace.ts';

// The number alone decides: the message to it that has waited longest gets the receipt.
sabotage([
  { file: 'src/messaging/unknown-outcomes/match-unknowns.ts', find: 'if (another !== undefined || ', put: 'if (' },
  {
    file: 'src/messaging/unknown-outcomes/match-unknowns.ts',
    find: 'return settleContests(strays, matches);',
    put: 'return matches;',
  },
]);
