import type { Replacement } from './replace.ts';

/** Requests keep the rights of the role that the program connects as: the owner, whom no policy restricts. */
export const asOwner: Replacement = {
  file: 'src/core/db/transaction.ts',
  find: " OR set_config('role', '${TENANT_ROLE}', true) IS NULL`",
  put: '`',
};
