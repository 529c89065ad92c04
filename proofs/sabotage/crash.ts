import { sabotage } from './replace.ts';

// As gateways do that know only queued and done: what a dead worker had in hand is sent again.
sabotage([
  {
    file: 'src/network/dispatch/rescue.ts',
    find: 'ids.slice(0, intent).map((messageId)',
    put: 'ids.slice(0, 0).map((messageId)',
  },
  { file: 'src/network/dispatch/rescue.ts', find: 'if (intent >= ids.length)', put: 'if (false)' },
  { file: 'src/network/dispatch/rescue.ts', find: 'ids: ids.slice(intent)', put: 'ids' },
]);
