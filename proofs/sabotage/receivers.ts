import { sabotage } from './replace.ts';

sabotage([
  {
    file: 'src/webhooks/post.ts',
    find: '// 1xx come before the answer, as many as the receiver likes.',
    put: 'clearTimeout(timer);',
  },
]);
