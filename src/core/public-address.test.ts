import { describe, expect, test } from 'vitest';
import { createAddressCheck } from './address.ts';

const isPublic = createAddressCheck();

describe('may be dialled', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '93.184.215.14',
    '223.255.255.255',
    '11.0.0.0',
    '9.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001:80f::200e',
    '2001:4860:4860::8888',
    '2620:fe::fe',
    '2003::1',
  ])('%s', (address) => expect(isPublic(address)).toBe(true));
});

/** Both edges of each block, and the addresses next to them. */
const BLOCKS: [first: string, last: string, before: string, after: string][] = [
  ['0.0.0.0', '0.255.255.255', '', '1.0.0.0'],
  ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['127.0.0.0', '127.255.255.255', '126.255.255.255', '128.0.0.0'],
  ['168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
  ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['192.31.196.0', '192.31.196.255', '192.31.195.255', '192.31.197.0'],
  ['192.52.193.0', '192.52.193.255', '192.52.192.255', '192.52.194.0'],
  ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['192.175.48.0', '192.175.48.255', '192.175.47.255', '192.175.49.0'],
  ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['224.0.0.0', '255.255.255.255', '223.255.255.255', ''],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '', '2001:200::'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db7:ffff::', '2001:db9::'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:ffff::', '2003::'],
  ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff', '2620:4f:7fff:ffff::', '2620:4f:8001::'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe:ffff::', '3fff:1000::'],
];
test.each(BLOCKS)(
  '%s to %s may not be dialled, and nothing next to it is taken for it',
  (first, last, before, after) => {
    expect([first, last].map(isPublic)).toEqual([false, false]);
    for (const neighbour of [before, after]) if (neighbour !== '') expect(isPublic(neighbour), neighbour).toBe(true);
  },
);

describe('may not be dialled: an address that embeds another one, public or not', () => {
  test.each([
    ['mapped', '::ffff:1.1.1.1'],
    ['mapped, in hex', '::ffff:101:101'],
    ['mapped, written out', '0:0:0:0:0:ffff:7f00:1'],
    ['compatible', '::1.1.1.1'],
    ['translated', '::ffff:0:1.1.1.1'],
    ['NAT64', '64:ff9b::1.1.1.1'],
    ['local NAT64', '64:ff9b:1::1.1.1.1'],
    ['6to4', '2002:101:101::1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:fefe:fefe'],
    ['ISATAP', '2606:4700::5efe:101:101'],
    ['ISATAP with the universal bit', '2606:4700::200:5efe:101:101'],
    ['ISATAP with the group bit', '2606:4700::300:5efe:101:101'],
  ])('%s: %s', (_, address) => expect(isPublic(address)).toBe(false));
});

describe('may not be dialled: other IPv6', () => {
  test.each(['::', '::1', 'fe80::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '100::1', '4000::1', '1fff::1', '5f00::1'])(
    '%s',
    (address) => expect(isPublic(address)).toBe(false),
  );
});

describe('is not an address', () => {
  test.each([
    '',
    'localhost',
    '127.1',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '2130706433',
    '1.1.1.1.',
    ' 1.1.1.1',
    '1.1.1.1:443',
    '[2606:4700::1]',
    '2606:4700::1%eth0',
    '2606:4700::1/64',
    '１.1.1.1',
    '001.1.1.1',
  ])('%o', (address) => expect(isPublic(address)).toBe(false));
});

describe('blocks that the operator allows', () => {
  const opened = createAddressCheck(['10.1.0.0/16', '127.0.0.1', 'fd00::/8', '::1']);
  test('are dialled in addition to public addresses', () => {
    for (const address of ['10.1.2.3', '127.0.0.1', 'fd12::1', '::1', '8.8.8.8']) expect(opened(address)).toBe(true);
  });

  test('allow nothing else, and no IPv6 form of an IPv4 address', () => {
    for (const address of ['10.2.0.0', '127.0.0.2', '::2', 'fe80::1', '::ffff:10.1.2.3', 'fd12::1%eth0'])
      expect(opened(address), address).toBe(false);
  });

  test('of IPv6 allow no IPv4 address that they embed', () => {
    expect(createAddressCheck(['::ffff:10.1.0.0/112'])('10.1.2.3')).toBe(false);
  });
});
