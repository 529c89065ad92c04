import { CHANNELS } from './channel.ts';

/**
 * The areas of the API, of which every operation names those that it needs: the three channels (sending) and the other
 * activities of an account, with `money` (balance, ledger, prices, and all amounts in other responses) and `social`.
 */
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
  'money',
  'social',
] as const;
export type Scope = (typeof SCOPES)[number];

/** The roles of users, from the least to the most powerful. */
export const ROLES = ['viewer', 'sender', 'manager', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Access of an operation within a scope. */
export type Access = 'read' | 'write';

/**
 * The one table of rights: the access of each role within each scope. `write` includes `read`. The scope `keys` covers
 * keys, users, sessions of others, the audit log, the allow-list, the policy for campaigns and the rules for reading
 * numbers.
 */
export const RIGHTS: Record<Scope, Record<Role, Access | 'none'>> = {
  SMS: { viewer: 'read', sender: 'write', manager: 'write', admin: 'write' },
  WHATSAPP: { viewer: 'read', sender: 'write', manager: 'write', admin: 'write' },
  RCS: { viewer: 'read', sender: 'write', manager: 'write', admin: 'write' },
  campaigns: { viewer: 'read', sender: 'read', manager: 'write', admin: 'write' },
  contacts: { viewer: 'read', sender: 'read', manager: 'write', admin: 'write' },
  tracking: { viewer: 'read', sender: 'read', manager: 'write', admin: 'write' },
  inbox: { viewer: 'read', sender: 'write', manager: 'write', admin: 'write' },
  exports: { viewer: 'read', sender: 'none', manager: 'write', admin: 'write' },
  webhooks: { viewer: 'read', sender: 'none', manager: 'write', admin: 'write' },
  media: { viewer: 'read', sender: 'write', manager: 'write', admin: 'write' },
  keys: { viewer: 'none', sender: 'none', manager: 'none', admin: 'write' },
  money: { viewer: 'read', sender: 'none', manager: 'read', admin: 'write' },
  social: { viewer: 'read', sender: 'none', manager: 'write', admin: 'write' },
};

/** Returns true if a role has this access within the scope. */
export const roleMay = (role: Role, scope: Scope, access: Access): boolean =>
  access === 'read' ? RIGHTS[scope][role] !== 'none' : RIGHTS[scope][role] === 'write';

const readableBy = (role: Role): ReadonlySet<Scope> => new Set(SCOPES.filter((scope) => roleMay(role, scope, 'read')));

/** Made once: every request of a user asks for one of them. */
const ROLE_SCOPES: Record<Role, ReadonlySet<Scope>> = {
  viewer: readableBy('viewer'),
  sender: readableBy('sender'),
  manager: readableBy('manager'),
  admin: readableBy('admin'),
};

/** Returns the scopes of a user: those that the role may at least read. */
export const scopesOfRole = (role: Role): ReadonlySet<Scope> => ROLE_SCOPES[role];

/**
 * Returns the scopes of a key: those stored with it that its user's role still has, so that a key never has more rights
 * than its user, even if that user's role is reduced later. Stored values that are not scopes are ignored.
 */
export function scopesOfKey(role: Role, operations: readonly string[]): ReadonlySet<Scope> {
  return new Set(SCOPES.filter((scope) => operations.includes(scope) && ROLE_SCOPES[role].has(scope)));
}

/** The part of a caller that determines its rights: a role, and the scopes to which a key limits it. */
export type Holder = { readonly role: Role; readonly operations: ReadonlySet<Scope> };

/** Returns true if a caller has this access within the scope: it has the scope, and its role allows the access. */
export const mayAccess = ({ role, operations }: Holder, scope: Scope, access: Access): boolean =>
  operations.has(scope) && roleMay(role, scope, access);
