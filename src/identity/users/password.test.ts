import { argon2Sync } from 'node:crypto';
import { expect, test } from 'vitest';
import { hashPassword, generatePassword, matchesPassword, UNMATCHABLE_HASH } from './password.ts';

test('a hash matches only its own password', async () => {
  const stored = await hashPassword('correct horse');
  expect(await matchesPassword('correct horse', stored)).toBe(true);
  expect(await matchesPassword('correct horsf', stored)).toBe(false);
  expect(await matchesPassword('', stored)).toBe(false);
});

test('a hash is a PHC string of argon2id with 19 MiB and 2 passes, and no two are alike', async () => {
  const [first, second] = await Promise.all([hashPassword('x'), hashPassword('x')]);
  expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  expect(first).not.toBe(second);
});

test('a hash of another cost is checked at its own cost', async () => {
  const cost = { memory: 64, passes: 1, parallelism: 2, tagLength: 16 };
  const tag = argon2Sync('argon2id', { message: 'ç:ü', nonce: Buffer.from('0123456789abcdef'), ...cost });
  const [salt, hash] = ['0123456789abcdef', tag].map((bytes) =>
    Buffer.from(bytes).toString('base64').replace(/=+$/, ''),
  );
  const stored = `$argon2id$v=19$m=64,t=1,p=2$${salt}$${hash}`;
  expect(await matchesPassword('ç:ü', stored)).toBe(true);
  expect(await matchesPassword('c:u', stored)).toBe(false);
});

test('the hash for unknown users has the cost of a real one and matches nothing', async () => {
  const cost = (stored: string) => stored.split('$').slice(0, 4).join('$');
  expect(cost(UNMATCHABLE_HASH)).toBe(cost(await hashPassword('x')));
  expect(UNMATCHABLE_HASH).toHaveLength((await hashPassword('x')).length);
  expect(await matchesPassword('', UNMATCHABLE_HASH)).toBe(false);
});

test('a stored hash of another kind is an error, not a mismatch', async () => {
  await expect(matchesPassword('x', '$2b$12$abcdefghijklmnopqrstuv')).rejects.toThrow('not argon2id');
});

test('passwords are 24 characters that need no quoting, and differ', () => {
  expect(generatePassword()).toMatch(/^[A-Za-z0-9_-]{24}$/);
  expect(generatePassword()).not.toBe(generatePassword());
});
