import { sabotage } from './replace.ts';

// As most programs write CSV that do so with care.
sabotage([
  {
    file: 'src/platform/lib/csv.ts',
    find: 'export const FORMULA_START = `(^|[${SEPARATORS}])',
    put: 'export const FORMULA_START = `(^)',
  },
]);
