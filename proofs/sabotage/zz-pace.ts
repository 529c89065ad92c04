import { sabotage } from './replace.ts';
sabotage([{ file: 'src/webhooks/pace.ts', find: 'const FIRST_AT_ONCE = 8;', put: 'const FIRST_AT_ONCE = 2;' }]);
