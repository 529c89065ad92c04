import { expect, test } from 'vitest';
import { SCOPES, scopesOfKey, scopesOfRole } from './scope.ts';

test('owners and admins have every scope, operators and viewers all but the keys', () => {
  for (const role of ['owner', 'admin'] as const) expect([...scopesOfRole(role)]).toEqual([...SCOPES]);
  for (const role of ['operator', 'viewer'] as const) {
    expect(scopesOfRole(role).has('keys')).toBe(false);
    expect(scopesOfRole(role).size).toBe(SCOPES.length - 1);
  }
});

test('a key has what is stored with it, in the limits of its user and of the known scopes', () => {
  expect([...scopesOfKey('owner', ['keys', 'SMS', 'root', 'sms'])]).toEqual(['SMS', 'keys']);
  expect([...scopesOfKey('operator', ['keys', 'SMS'])]).toEqual(['SMS']);
  expect(scopesOfKey('owner', []).size).toBe(0);
});
