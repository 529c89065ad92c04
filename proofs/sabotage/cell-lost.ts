import { sabotage } from './replace.ts';

const file = 'src/cells/directory.ts';
// So that nobody is sent to the wrong cell.
sabotage([
  { file, find: "caller.kind === 'hash' ? await firstNumber(asked) : undefined", put: 'undefined' },
  {
    file,
    find: "answers.find((answer) => typeof answer === 'number')",
    put: "(answers.includes(null) ? undefined : answers.find((answer) => typeof answer === 'number'))",
  },
]);
