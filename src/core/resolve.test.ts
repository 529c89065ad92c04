import { expect, test } from 'vitest';
import { startNameServer, type Zone } from '../../test/support/http/name-server.ts';
import { addressesIn, createResolve, createResolveTexts } from './outbound.ts';

const HOSTS = `
127.0.0.1 localhost
10.0.0.5\treceiver.internal  Receiver # 10.0.0.9 other
fd00::5 receiver.internal
# 10.0.0.6 receiver.internal
nonsense receiver.internal
  10.0.0.7 indented.internal
`;

test('all addresses of a name are read from a hosts file, in any case, without comments', () => {
  expect(addressesIn(HOSTS, 'receiver.internal')).toEqual(['10.0.0.5', 'fd00::5']);
  expect(addressesIn(HOSTS, 'receiver')).toEqual(['10.0.0.5']);
  expect(addressesIn(HOSTS, 'other')).toEqual([]);
  expect(addressesIn(HOSTS, 'indented.internal')).toEqual(['10.0.0.7']);
});

const ZONE: Readonly<Record<string, ReturnType<Zone>>> = {
  'both.example.com': ['192.0.2.1', '2001:db8::1', '192.0.2.2'],
  'six.example.com': ['2001:db8::2'],
  'silent.example.com': 'silence',
};

test('DNS gives all addresses of both families; one is enough', async () => {
  await using server = await startNameServer((name) => ZONE[name] ?? []);
  const resolve = createResolve({ servers: [server.address] });
  expect(await resolve('both.example.com')).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1']);
  expect(await resolve('SIX.example.com.')).toEqual(['2001:db8::2']);
  await expect(resolve('unknown.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' });
});

test('DNS gives all texts of a name, long ones in one piece, and none for a name that has none', async () => {
  const long = 'x'.repeat(700);
  await using server = await startNameServer(
    (name) => ZONE[name] ?? [],
    (name) => (name === '_texts.example.com' ? ['v=1', long] : []),
  );
  const resolveTexts = createResolveTexts({ servers: [server.address] });
  expect(await resolveTexts('_texts.example.com')).toEqual(['v=1', long]);
  for (const name of ['both.example.com', 'unknown.example.com', `_texts.${'label.'.repeat(45)}com`])
    expect(await resolveTexts(name)).toEqual([]);
  await expect(resolveTexts('silent.example.com')).rejects.toMatchObject({
    code: expect.stringMatching(/ETIMEOUT|ECANCELLED/),
  });
});

test('nothing is cached: the next response may differ', async () => {
  const answers = [['192.0.2.1'], ['192.0.2.2']];
  let asked = 0;
  await using server = await startNameServer(() => answers[Math.floor(asked++ / 2)] ?? []);
  const resolve = createResolve({ servers: [server.address] });
  expect(await resolve('example.com')).toEqual(['192.0.2.1']);
  expect(await resolve('example.com')).toEqual(['192.0.2.2']);
});

test('a silent name server is given up', async () => {
  await using server = await startNameServer((name) => ZONE[name] ?? []);
  const resolve = createResolve({ servers: [server.address] });
  await expect(resolve('silent.example.com')).rejects.toMatchObject({
    code: expect.stringMatching(/ETIMEOUT|ECANCELLED/),
  });
});

test('localhost and the names below it are this machine, without a query', async () => {
  const resolve = createResolve({ servers: ['127.0.0.1:9'] });
  for (const name of ['localhost', 'LOCALHOST.', 'a.localhost']) expect(await resolve(name)).toEqual(['127.0.0.1']);
});

test('without configured name servers it asks those of the machine', async () => {
  // RFC 6761: no name server may know this name, and a machine without any has another of these codes.
  await expect(createResolve()('receiver.invalid')).rejects.toMatchObject({
    code: expect.stringMatching(/^E(NOTFOUND|NODATA|SERVFAIL|REFUSED|CONNREFUSED|TIMEOUT|CANCELLED)$/),
  });
});
