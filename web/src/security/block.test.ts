import { expect, test } from 'vitest';
import { addressCountOf, includesAddress } from './allow-list.tsx';

test.each([
  ['203.0.113.9/32', 1],
  ['203.0.113.0/24', 256],
  ['0.0.0.0/0', 4_294_967_296],
  ['2001:db8::1/128', 1],
  ['2001:db8::/64', null],
])('%s has %s addresses', (block, size) => {
  expect(addressCountOf(block)).toBe(size);
});

test.each([
  ['203.0.113.0/24', '203.0.113.200', true],
  ['203.0.113.0/24', '203.0.114.1', false],
  ['128.0.0.0/1', '203.0.113.1', true],
  ['127.0.0.1/32', '127.0.0.1', true],
  ['2001:db8::1/128', '2001:db8::1', true],
  ['0.0.0.0/0', '2001:db8::1', false],
])('that %s has %s is %s', (block, address, expected) => {
  expect(includesAddress(block, address)).toBe(expected);
});
