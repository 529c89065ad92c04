import { sabotage } from './replace.ts';

sabotage([
  {
    file: 'src/platform/outbound/post.ts',
    find: 'if (status >= 200) answer =',
    put: 'clearTimeout(timer); if (status >= 200) answer =',
  },
]);
