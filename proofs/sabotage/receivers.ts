import { sabotage } from './replace.ts';

sabotage([
  {
    file: 'src/webhooks/post.ts',
    find: 'if (status >= 200) answer =',
    put: 'clearTimeout(timer); if (status >= 200) answer =',
  },
]);
