import { sabotage } from './replace.ts';

// As readers do that know one event in each callback.
sabotage([{ file: 'src/carriers/http-sms/callbacks.ts', find: '.slice(0, MAX_EVENTS)', put: '.slice(0, 1)' }]);
