import { sabotage } from './replace.ts';

const file = 'src/messages/next-channel.ts';
sabotage([
  { file, find: "if (CHANNEL[channel].revocable && !message.simulation) return { kind: 'revoke' };", put: '' },
  {
    file,
    find: 'const { channel, submittedAt, status } = message;',
    put: 'const { channel, status } = message; const submittedAt = message.submittedAt ?? message.from;',
  },
]);
