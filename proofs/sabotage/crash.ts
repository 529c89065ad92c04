import { sabotage } from './replace.ts';

// As gateways do that know of queued and done only: what a dead worker had in its hands is sent again.
sabotage([
  { file: 'src/dispatch/rescue.ts', find: 'chunk.ids.slice(0, chunk.intent)', put: 'chunk.ids.slice(0, 0)' },
  { file: 'src/dispatch/rescue.ts', find: 'if (intent >= ids.length)', put: 'if (false)' },
  { file: 'src/dispatch/rescue.ts', find: 'ids: ids.slice(intent)', put: 'ids' },
]);
