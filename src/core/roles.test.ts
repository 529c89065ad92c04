import { expect, test } from 'vitest';
import { ROLES, requireAuthority, roleIn, SCOPES, type Scope, scopesOfKey, scopesOfRole } from './actor.ts';

const NEED_ADMIN: Scope[] = ['keys', 'money'];

test('an operator of the gateway has the own role at home, and that of an admin in any other account', () => {
  const session = { accountId: 1, role: 'viewer' } as const;
  expect([roleIn(1, session), roleIn(2, session)]).toEqual(['viewer', 'admin']);
});

test('an admin manages all roles', () => {
  for (const role of ROLES)
    expect(() => requireAuthority({ role: 'admin', operations: scopesOfRole('admin') }, role)).not.toThrow();
});

test('a user cannot grant rights that they lack, and the error names the scopes that are lacking', () => {
  const manager = { role: 'manager', operations: scopesOfRole('manager') } as const;
  for (const role of ['viewer', 'sender', 'manager'] as const)
    expect(() => requireAuthority(manager, role)).not.toThrow();
  expect(() => requireAuthority(manager, 'admin')).toThrow(
    `These credentials lack rights of the role admin, in the scopes ${NEED_ADMIN.join(', ')}`,
  );
  expect(() => requireAuthority({ ...manager, role: 'viewer' }, 'sender')).toThrow('in the scopes SMS, RCS, WHATSAPP');
});

test('a key grants no role with more rights than its own', () => {
  const key = { role: 'admin', operations: scopesOfKey('admin', ['contacts', 'keys']) } as const;
  const lacking = SCOPES.filter((scope) => scope !== 'contacts' && scope !== 'keys');
  expect(() => requireAuthority(key, 'viewer')).toThrow(lacking.join(', '));
});
