import { sabotage } from './replace.ts';

// The body is not checked for U+0000, which PostgreSQL cannot store.
sabotage([
  {
    file: 'src/core/http/body.ts',
    find: "if (unit === 0) return 'nul';",
    put: '',
  },
]);
