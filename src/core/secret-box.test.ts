import { randomBytes } from 'node:crypto';
import { fc, test as propertyTest } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { createSecretKey, open, seal } from './secrets.ts';

const key = createSecretKey(randomBytes(32));

propertyTest.prop([fc.uint8Array({ maxLength: 200 }), fc.string()])('a sealed value opens again', (plain, aad) => {
  expect(open(key, seal(key, plain, aad), aad)).toEqual(Buffer.from(plain));
});

propertyTest.prop([fc.string(), fc.nat(), fc.integer({ min: 1, max: 255 })])(
  'a sealed value with any byte changed does not open',
  (plain, position, mask) => {
    const sealed = seal(key, plain, 'a');
    const index = position % sealed.length;
    sealed[index] = (sealed[index] ?? 0) ^ mask;
    expect(() => open(key, sealed, 'a')).toThrow();
  },
);

test('a sealed value does not open in another place', () => {
  expect(() => open(key, seal(key, 'password', 'connection.secret:1'), 'connection.secret:2')).toThrow();
});

test('another key says that the key was changed', () => {
  const other = createSecretKey(randomBytes(32));
  expect(() => open(other, seal(key, 'password', 'a'), 'a')).toThrow(/another key: restore the earlier SECRET_KEY/);
});

test('the same text is never sealed to the same bytes, and stays unreadable', () => {
  const [first, second] = [seal(key, 'password', 'a'), seal(key, 'password', 'a')];
  expect(first).not.toEqual(second);
  expect(first.includes('password')).toBe(false);
});

test('a truncated value does not open', () => {
  const sealed = seal(key, '', 'a');
  for (let length = 0; length < sealed.length; length++) {
    expect(() => open(key, sealed.subarray(0, length), 'a')).toThrow();
  }
});

test('a key that is not 32 bytes long is rejected', () => {
  expect(() => createSecretKey(randomBytes(16))).toThrow(/32 bytes/);
});
