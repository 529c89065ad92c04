import { sabotage } from './replace.ts';

// A request that creates a key can say whose it is.
sabotage([
  {
    file: 'src/identity/api-keys/create.ts',
    find: 'const { accountId, userId } = actor;',
    put: 'const { accountId, userId } = { ...actor, ...input };',
  },
]);
