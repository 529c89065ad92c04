import { sabotage } from './replace.ts';

// As readers do that know one event in each callback.
sabotage([{ file: 'src/carriers/http-sms/callbacks.ts', find: 'items.flatMap(', put: 'items.slice(0, 1).flatMap(' }]);
