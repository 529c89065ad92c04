import { describe, expect, test } from 'vitest';
import {
  mayAccess,
  RIGHTS,
  ROLES,
  type Role,
  roleMay,
  SCOPES,
  type Scope,
  scopesOfKey,
  scopesOfRole,
} from './actor.ts';

const scopesWith = (role: Role, right: string): Scope[] => SCOPES.filter((scope) => RIGHTS[scope][role] === right);

describe('the table of rights', () => {
  test('lets an admin do everything', () => {
    expect(scopesWith('admin', 'write')).toEqual([...SCOPES]);
  });

  test('lets a viewer write nothing, and read everything but keys and users', () => {
    expect(scopesWith('viewer', 'write')).toEqual([]);
    expect(scopesWith('viewer', 'none')).toEqual(['keys']);
  });

  test('lets a sender send, reply and upload, and show no money', () => {
    expect(scopesWith('sender', 'write')).toEqual(['SMS', 'RCS', 'WHATSAPP', 'inbox', 'media', 'verify']);
    expect(scopesWith('sender', 'read')).toEqual(['campaigns', 'contacts', 'tracking']);
  });

  test('lets a manager do everything but keys, users and payments', () => {
    expect(scopesWith('manager', 'none')).toEqual(['keys']);
    expect(scopesWith('manager', 'read')).toEqual(['money']);
  });

  test('gives a manager all that a sender has, and an admin all that any role has', () => {
    const accesses = ['read', 'write'] as const;
    for (const scope of SCOPES)
      for (const access of accesses) {
        if (roleMay('sender', scope, access)) expect(roleMay('manager', scope, access), scope).toBe(true);
        for (const role of ROLES)
          if (roleMay(role, scope, access)) expect(roleMay('admin', scope, access), scope).toBe(true);
      }
  });
});

test('the scopes of a user are those that the role may at least read', () => {
  expect([...scopesOfRole('sender')]).toEqual(SCOPES.filter((scope) => RIGHTS[scope].sender !== 'none'));
});

test('a key has what is stored with it, in the limits of its user and of the known scopes', () => {
  expect([...scopesOfKey('admin', ['keys', 'SMS', 'root', 'sms'])]).toEqual(['SMS', 'keys']);
  expect([...scopesOfKey('manager', ['keys', 'SMS'])]).toEqual(['SMS']);
  expect(scopesOfKey('admin', []).size).toBe(0);
});

test('access needs both the scope and a role that allows it', () => {
  const key = { role: 'viewer', operations: scopesOfKey('viewer', ['contacts']) } as const;
  expect(mayAccess(key, 'contacts', 'read')).toBe(true);
  expect(mayAccess(key, 'contacts', 'write')).toBe(false);
  expect(mayAccess(key, 'media', 'read')).toBe(false);
});
