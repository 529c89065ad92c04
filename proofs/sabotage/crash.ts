import { sabotage } from './replace.ts';

// As gateways do that know of queued and done only: what a dead worker had in its hands is sent again.
sabotage([
  {
    file: 'src/network/dispatch/rescue.ts',
    find: 'ids.slice(0, intent).map((messageId)',
    put: 'ids.slice(0, 0).map((messageId)',
  },
  { file: 'src/network/dispatch/rescue.ts', find: 'if (intent >= ids.length)', put: 'if (false)' },
  { file: 'src/network/dispatch/rescue.ts', find: 'ids: ids.slice(intent)', put: 'ids' },
]);
