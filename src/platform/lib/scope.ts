import { CHANNELS } from './channel.ts';

/** What a key or a user may touch: the three channels (sending) and the areas of the interface (contract 2). */
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

/** What a person of this role may touch. A viewer, besides, only reads: src/platform/http/auth.ts refuses its writes. */
const ROLE_SCOPES: Record<Role, ReadonlySet<Scope>> = {
  owner: new Set(SCOPES),
  admin: new Set(SCOPES),
  operator: new Set(SCOPES.filter((scope) => scope !== 'keys')),
  viewer: new Set(SCOPES.filter((scope) => scope !== 'keys')),
};

/** The scopes of a person, fixed by the role. */
export const scopesOfRole = (role: Role): ReadonlySet<Scope> => ROLE_SCOPES[role];

/**
 * The scopes of a key: those stored with it that its user's role still has, so a key never outgrows its maker, even
 * when the maker's role was narrowed later. Stored words that are no scope are dropped.
 */
export function scopesOfKey(role: Role, operations: readonly string[]): ReadonlySet<Scope> {
  return new Set(SCOPES.filter((scope) => operations.includes(scope) && ROLE_SCOPES[role].has(scope)));
}
