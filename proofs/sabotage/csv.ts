import { sabotage } from './replace.ts';

// As most programs write CSV.
sabotage([
  {
    file: 'src/lib/csv.ts',
    find: "const inert = FORMULA.test(text) && !E164.test(text) ? `'${text}` : text;",
    put: 'const inert = text;',
  },
]);
