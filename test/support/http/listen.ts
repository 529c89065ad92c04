import { once } from 'node:events';
import net from 'node:net';
import type { App } from '../../../src/core/http/app.ts';

/** Listens with the app on a free port of this machine until the scope ends (`await using`). */
export async function listening(app: App): Promise<{ port: number; url: string } & AsyncDisposable> {
  await app.listen({ host: '127.0.0.1', port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  const { port } = address;
  return { port, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => app.close() };
}

/** Sends these bytes as they are; resolves with everything that comes back until the server closes the connection. */
export async function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const socket = net.connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1');
  });
  socket.end(bytes);
  await once(socket, 'close');
  return answer;
}
