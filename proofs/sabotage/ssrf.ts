import { sabotage } from './replace.ts';

const file = 'src/core/outbound.ts';
sabotage([
  {
    file,
    find: 'if (isIP(target.hostname) !== 0 && !guard.isAllowed(target.hostname)) return',
    put: 'if (!guard) return',
  },
  { file, find: "if (guard.isAllowed(socket.remoteAddress ?? '')) return", put: 'if (guard) return' },
]);
