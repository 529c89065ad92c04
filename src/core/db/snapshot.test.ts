import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openSnapshot } from './transaction.ts';

test('a server without responses is given up, so that another one can be read', async () => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const { port } = silent.address() as AddressInfo;
  const opened = openSnapshot(`postgres://nobody@127.0.0.1:${port}/none`, { accountId: 1 });
  await expect(opened).rejects.toThrow('timeout');
}, 30_000);
