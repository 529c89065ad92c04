import { sabotage } from './replace.ts';

// As a program does that takes the end of a connection for the end of the rows.
sabotage([
  {
    file: 'src/reporting/exports/make.ts',
    find: 'await writeRows({ snapshot, rows, format, file, onRows: progress.add, signal });',
    put: 'await writeRows({ snapshot, rows, format, file, onRows: progress.add, signal }).catch(() => undefined);',
  },
]);
