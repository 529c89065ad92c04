import { argon2Sync } from 'node:crypto';
import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { transaction } from '../core/db/transaction.ts';
import { generatePassword, hashPassword, matchesPassword, UNMATCHABLE_HASH } from './password.ts';

const { pool } = testDatabase();
const BY = { by: 'test' };

test('a hash matches only its own password', async () => {
  const stored = await hashPassword('correct horse', BY);
  expect(await matchesPassword('correct horse', stored, BY)).toBe(true);
  expect(await matchesPassword('correct horsf', stored, BY)).toBe(false);
  expect(await matchesPassword('', stored, BY)).toBe(false);
});

test('a hash is a PHC string of argon2id with 19 MiB and 2 passes, and no two are alike', async () => {
  const [first, second] = await Promise.all([hashPassword('x', BY), hashPassword('x', BY)]);
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
  expect(await matchesPassword('ç:ü', stored, BY)).toBe(true);
  expect(await matchesPassword('c:u', stored, BY)).toBe(false);
});

test('the hash for unknown users has the cost of a real one and matches nothing', async () => {
  const cost = (stored: string) => stored.split('$').slice(0, 4).join('$');
  expect(cost(UNMATCHABLE_HASH)).toBe(cost(await hashPassword('x', BY)));
  expect(UNMATCHABLE_HASH).toHaveLength((await hashPassword('x', BY)).length);
  expect(await matchesPassword('', UNMATCHABLE_HASH, BY)).toBe(false);
});

test('a stored hash of another kind is an error, not a mismatch', async () => {
  await expect(matchesPassword('x', '$2b$12$abcdefghijklmnopqrstuv', BY)).rejects.toThrow('not argon2id');
});

test('passwords are 24 characters that need no quoting, and differ', () => {
  expect(generatePassword()).toMatch(/^[A-Za-z0-9_-]{24}$/);
  expect(generatePassword()).not.toBe(generatePassword());
});

test('hashes of one account wait for each other, and another account for none of them', async () => {
  const order: string[] = [];
  const hash = async (by: string): Promise<void> => {
    await hashPassword('x', { by });
    order.push(by);
  };
  const flood = Array.from({ length: 10 }, () => hash('flood'));
  await hash('other');
  expect(order.filter((by) => by === 'flood').length).toBeLessThanOrEqual(3);
  await Promise.all(flood);
});

test('an account sets sixty passwords a minute, and another one is not affected', async () => {
  const hashes = Array.from({ length: 61 }, () => hashPassword('x', { by: 900_001 }));
  const results = await Promise.allSettled([...hashes, hashPassword('x', { by: 900_002 })]);
  expect(results.map(({ status }) => status)).toEqual([...Array(60).fill('fulfilled'), 'rejected', 'fulfilled']);
  expect(results[60]).toMatchObject({ reason: { code: 'rate_limited' } });
});

test('no password is hashed in an open transaction', async () => {
  const hash = transaction(pool, () => hashPassword('x', BY));
  await expect(hash).rejects.toThrow('a password hash was asked for in an open transaction');
});
