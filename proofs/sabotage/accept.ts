import { sabotage } from './replace.ts';

// The answer is sent while the commit is still under way; if the commit fails, nobody learns of it.
sabotage([
  {
    file: 'src/messages/accept.ts',
    find: 'const verdict = await commitOne(idempotency ? { ...prepared, idempotency } : prepared);',
    put: `void commitOne(idempotency ? { ...prepared, idempotency } : prepared).catch(() => undefined);
      const verdict = accepted(prepared);`,
  },
]);
