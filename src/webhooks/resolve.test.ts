import { expect, test } from 'vitest';
import { addressesIn, resolve } from './resolve.ts';

const HOSTS = `
127.0.0.1 localhost
10.0.0.5\treceiver.internal  Receiver # 10.0.0.9 other
fd00::5 receiver.internal
# 10.0.0.6 receiver.internal
nonsense receiver.internal
`;

test('a hosts file gives all addresses of a name, whatever its case, and no comment', () => {
  expect(addressesIn(HOSTS, 'receiver.internal')).toEqual(['10.0.0.5', 'fd00::5']);
  expect(addressesIn(HOSTS, 'receiver')).toEqual(['10.0.0.5']);
  expect(addressesIn(HOSTS, 'other')).toEqual([]);
});

test('localhost and the names below it are this machine, without asking anybody', async () => {
  for (const name of ['localhost', 'LOCALHOST.', 'a.localhost']) expect(await resolve(name)).toEqual(['127.0.0.1']);
});

test('a name that cannot exist is rejected', async () => {
  await expect(resolve('no-such-host.invalid')).rejects.toThrow();
});
