import { sabotage } from './replace.ts';

// As gateways do that know only queued and done: what a dead worker had in hand is sent again.
sabotage([
  {
    file: 'src/dispatch/commit.ts',
    find: 'ids.slice(0, intent).map((messageId)',
    put: 'ids.slice(0, 0).map((messageId)',
  },
  { file: 'src/dispatch/commit.ts', find: 'if (intent >= ids.length)', put: 'if (false)' },
  { file: 'src/dispatch/commit.ts', find: 'ids: ids.slice(intent)', put: 'ids' },
]);
