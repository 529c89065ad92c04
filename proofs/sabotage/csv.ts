import { sabotage } from './replace.ts';

// As most programs write CSV.
sabotage([
  {
    file: 'src/reporting/exports/rows/cells.ts',
    find: "if (format === 'xlsx' || kind === 'number' || kind === 'plain') return value;",
    put: "if (format !== 'csv.gz' || kind === 'number' || kind === 'plain') return value;",
  },
  {
    file: 'src/platform/lib/csv.ts',
    find: "const inert = FORMULA.test(text) && !E164.test(text) ? `'${text}` : text;",
    put: 'const inert = text;',
  },
]);
