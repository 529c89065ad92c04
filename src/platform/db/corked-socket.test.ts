import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createCorkedSocket } from './corked-socket.ts';

test('what is written in one turn is held until its end, and arrives in order', async () => {
  const server = createServer((peer) => void peer.pipe(peer)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = createCorkedSocket();
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  const address = server.address();
  socket.connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1');
  await once(socket, 'connect');
  const echo: Buffer[] = [];
  socket.on('data', (octets: Buffer) => void echo.push(octets));
  const texts = Array.from({ length: 1000 }, (_, n) => `${n} `);
  for (const text of texts) {
    socket.write(text);
    expect(socket.writableCorked).toBe(1);
  }
  expect(socket.writableLength).toBe(texts.join('').length);
  await new Promise(process.nextTick);
  expect(socket.writableCorked).toBe(0);
  await expect.poll(() => Buffer.concat(echo).toString()).toBe(texts.join(''));
});
