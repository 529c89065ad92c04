import { CHANNELS } from './channel.ts';

/** What a key or a user may use: the three channels (sending) and the areas of the API (contract 2). */
export const SCOPES = [
  ...CHANNELS,
  'campaigns',
  'contacts',
  'tracking',
  'inbox',
  'exports',
  'webhooks',
  'media',
  'keys',
] as const;
export type Scope = (typeof SCOPES)[number];

export const ROLES = ['owner', 'admin', 'operator', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** The scopes of each role. A viewer may only read within them: src/platform/http/auth.ts rejects its writes. */
const ROLE_SCOPES: Record<Role, ReadonlySet<Scope>> = {
  owner: new Set(SCOPES),
  admin: new Set(SCOPES),
  operator: new Set(SCOPES.filter((scope) => scope !== 'keys')),
  viewer: new Set(SCOPES.filter((scope) => scope !== 'keys')),
};

/** Returns the scopes of a user, which depend only on the role. */
export const scopesOfRole = (role: Role): ReadonlySet<Scope> => ROLE_SCOPES[role];

/**
 * Returns the scopes of a key: those stored with it that its user's role still has, so that a key never has more rights
 * than its user, even if that user's role is reduced later. Stored values that are not scopes are ignored.
 */
export function scopesOfKey(role: Role, operations: readonly string[]): ReadonlySet<Scope> {
  return new Set(SCOPES.filter((scope) => operations.includes(scope) && ROLE_SCOPES[role].has(scope)));
}
