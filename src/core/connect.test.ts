import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TEST_CERT, TEST_KEY } from '../../test/support/http/certificate.ts';
import { createGuard, createGuardedConnector, type Guard, guardedLookup } from './outbound.ts';

/** A server that also speaks HTTP/2, as most do. */
const server = createServer({ cert: TEST_CERT, key: TEST_KEY, ALPNProtocols: ['h2', 'http/1.1'] });
let port = 0;
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => server.close());

function connect(guard: Guard): Promise<TLSSocket> {
  const dial = createGuardedConnector({ guard, ca: TEST_CERT, timeoutMs: 10_000 });
  const target = { hostname: 'localhost', host: `localhost:${port}`, protocol: 'https:', port: String(port) };
  return new Promise((resolve, reject) => {
    dial(target, (error, socket) => (error ? reject(error) : resolve(socket as TLSSocket)));
  });
}

const open = createGuard({ allowedBlocks: ['127.0.0.1'], ports: [], resolve: async () => ['127.0.0.1'] });

test('HTTP/2 is not offered, because its responses are not bounded here', async () => {
  const socket = await connect(open);
  expect(socket.alpnProtocol).toBe('http/1.1');
  socket.destroy();
});

test('a peer whose address may not be dialled is left at once, whatever its name resolved to', async () => {
  const arrived = once(server, 'connection') as Promise<[Socket]>;
  await expect(connect({ ...open, isAllowed: () => false })).rejects.toMatchObject({ code: 'ERR_ADDRESS_REFUSED' });
  const [peer] = await arrived;
  if (!peer.closed) await once(peer, 'close');
});

test('a lookup gives one address or all of them, as it is asked', async () => {
  const guard = createGuard({ allowedBlocks: [], ports: [], resolve: async () => ['8.8.8.8', '2606:4700::1111'] });
  const lookUp = (all: boolean) =>
    new Promise((resolve) => {
      guardedLookup(guard)('example.com', { all }, (...answer) => resolve(answer));
    });
  expect(await lookUp(false)).toEqual([null, '8.8.8.8', 4]);
  expect(await lookUp(true)).toEqual([
    null,
    [
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ],
  ]);
});
