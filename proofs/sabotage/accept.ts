import { sabotage } from './replace.ts';

// The answer leaves while the commit is still under way; when that fails, nobody is told.
sabotage([
  {
    file: 'src/messages/accept.ts',
    find: "return prepared.kind === 'refused' ? prepared : storeOne(prepared);",
    put: `if (prepared.kind === 'refused') return prepared;
      void storeOne(prepared).catch(() => undefined);
      return accepted(prepared);`,
  },
]);
