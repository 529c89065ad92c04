import { sabotage } from './replace.ts';

// Whoever makes a key says whose it is.
sabotage([
  {
    file: 'src/identity/api-keys/create.ts',
    find: 'const { accountId, userId } = actor;',
    put: 'const { accountId, userId } = { ...actor, ...input };',
  },
]);
