import { sabotage } from './replace.ts';

// As clients do that try again after a timeout, without a word about it.
sabotage([{ file: 'src/carriers/http-sms/verdict.ts', find: 'if (!got.written)', put: 'if (got.reason)' }]);
