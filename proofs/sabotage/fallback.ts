import { sabotage } from './replace.ts';

const file = 'src/campaigns/fallback.ts';
sabotage([
  { file, find: 'CHANNEL[channel].revocable && connectionId !== null', put: 'connectionId === 0' },
  { file, find: '(CHANNEL[channel].revocable ? [] : [id])', put: '[id]' },
  {
    file,
    find: 'restMs({ from: createdAt, submittedAt },',
    put: 'restMs({ from: createdAt, submittedAt: submittedAt ?? createdAt },',
  },
]);
