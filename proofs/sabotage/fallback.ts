import { sabotage } from './replace.ts';

const file = 'src/campaigns/fallback.ts';
sabotage([
  { file, find: "channel === 'RCS' && connectionId !== null", put: 'connectionId === 0' },
  { file, find: "(channel === 'RCS' ? [] : [id])", put: "(channel === '' ? [] : [id])" },
  {
    file,
    find: 'restMs({ from: createdAt, submittedAt },',
    put: 'restMs({ from: createdAt, submittedAt: submittedAt ?? createdAt },',
  },
]);
