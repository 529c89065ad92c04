import type { Replacement } from './replace.ts';

/** Requests keep the rights of whoever the program connects as: the owner, whom no policy holds. */
export const asOwner: Replacement = {
  file: 'src/platform/db/tenant.ts',
  find: " OR set_config('role', '${TENANT_ROLE}', true) IS NULL`",
  put: '`',
};
