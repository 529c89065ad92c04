import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { generateKeyValue, hashOfKey } from './api-keys.ts';

test('a key is pg_live_ and 43 base64url characters, stored as SHA-256, listed by its first 12 characters', () => {
  const { value, hash, prefix } = generateKeyValue();
  expect(value).toMatch(/^pg_live_[A-Za-z0-9_-]{43}$/);
  expect(hash).toEqual(createHash('sha256').update(value, 'utf8').digest());
  expect(prefix).toBe(value.slice(0, 12));
  expect(generateKeyValue().value).not.toBe(value);
});

test('a value is looked up by the hash under which it is stored', () => {
  const { value, hash } = generateKeyValue();
  expect(hashOfKey(value)).toEqual(hash);
});

test('what does not look like a key is not looked up', () => {
  const { value } = generateKeyValue();
  for (const wrong of [
    '',
    'pg_live_',
    value.slice(0, -1),
    `${value}A`,
    ` ${value}`,
    `${value}, ${value}`,
    `${value}\n`,
  ])
    expect(hashOfKey(wrong), wrong).toBeUndefined();
});
