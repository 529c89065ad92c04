import { expect, test } from 'vitest';
import { canonicalAddress, canonicalBlock, createAddressList, networkOf } from './address.ts';

test.each([
  ['1.2.3.4', '1.2.3.4'],
  ['1.2.3.4:8080', '1.2.3.4'],
  ['[2001:db8::1]:8080', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['2001:0DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['::FFFF:0102:0304', '1.2.3.4'],
  ['0:0:0:0:0:ffff:1.2.3.4', '1.2.3.4'],
])('%s is %s', (text, canonical) => {
  expect(canonicalAddress(text)).toBe(canonical);
});

test.each(['::1.2.3.4', '::ffff:0:1.2.3.4', '64:ff9b::1.2.3.4', '2002:102:304::'])('%s is not 1.2.3.4', (text) => {
  expect(canonicalAddress(text)).toContain(':');
  expect(createAddressList(['1.2.3.4/32'])(text)).toBe(false);
});

test.each([
  '',
  'unknown',
  '_hidden',
  '127.1',
  '0x7f.0.0.1',
  '010.0.0.1',
  '2130706433',
  '1.2.3.4 5.6.7.8',
  '1.2.3',
  '[x]',
])('"%s" is no address, and in no list', (text) => {
  expect(canonicalAddress(text)).toBeUndefined();
  expect(createAddressList(['0.0.0.0/0', '::/0'])(text)).toBe(false);
});

test.each([
  ['1.2.3.4', '1.2.3.4/32'],
  ['10.9.8.7/8', '10.0.0.0/8'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['2001:db8::5', '2001:db8::5/128'],
  ['2001:DB8:0:1:ffff::/64', '2001:db8:0:1::/64'],
  ['::ffff:10.0.0.1/104', '10.0.0.0/8'],
  ['::ffff:1.2.3.4', '1.2.3.4/32'],
  ['::/0', '::/0'],
])('the block %s is %s', (text, canonical) => {
  expect(canonicalBlock(text)).toBe(canonical);
});

test.each([
  '',
  'x',
  '1.2.3.4/33',
  '1.2.3.4/',
  '1.2.3.4/8/8',
  '1.2.3.4/-1',
  '::1/129',
  'fe80::1%eth0/64',
  '010.0.0.0/8',
])('"%s" is no block', (text) => {
  expect(canonicalBlock(text)).toBeUndefined();
});

test.each([
  ['10.1.2.3', true],
  ['::ffff:10.1.2.3', true],
  ['[::ffff:a01:203]:443', true],
  ['11.0.0.1', false],
  ['2001:db8:0:0:ffff::1', true],
  ['2001:db8:0:1::1', false],
  ['::1', false],
])('%s lies in 10.0.0.0/8 or 2001:db8::/64: %s', (address, inside) => {
  expect(createAddressList(['10.0.0.0/8', '2001:db8::/64'])(address)).toBe(inside);
});

test('a block of all IPv6 contains no IPv4, not even in mapped form', () => {
  const list = createAddressList(['::/0']);
  expect(['1.2.3.4', '::ffff:1.2.3.4'].map(list)).toEqual([false, false]);
});

test('addresses count by IPv4 address and by IPv6 /64', () => {
  expect(
    ['1.2.3.4', '::ffff:1.2.3.4', '2001:db8::1', '2001:db8::2', '2001:db8:0:1::1', 'unknown'].map(networkOf),
  ).toEqual(['1.2.3.4/32', '1.2.3.4/32', '2001:db8::/64', '2001:db8::/64', '2001:db8:0:1::/64', '0.0.0.0/32']);
});
