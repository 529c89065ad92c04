import { sabotage } from './replace.ts';

const file = 'src/messages/settle.ts';
// As a map does from which nothing is ever deleted.
sabotage([
  {
    file,
    find: 'const OUTCOME_NAMES =',
    put: 'const everSettled: object[] = [];\nconst OUTCOME_NAMES =',
  },
  {
    file,
    find: 'if (again || results.some(',
    put: 'everSettled.push(...results);\n  if (again || results.some(',
  },
]);
