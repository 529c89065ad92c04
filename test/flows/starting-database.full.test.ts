import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { startProgram } from '../../src/serve.ts';
import { startTestProgram } from '../support/program.ts';

/** The ErrorResponse of a PostgreSQL that is recovering. */
function startingUp(socket: Socket): void {
  const fields = Buffer.from('SFATAL\0C57P03\0Mthe database system is starting up\0\0');
  const head = Buffer.alloc(5, 'E');
  head.writeInt32BE(fields.length + 4, 1);
  socket.once('data', () => socket.end(Buffer.concat([head, fields])));
}

/**
 * Starts a relay in front of the server at `url` that responds to the first `count` connections like a server that is
 * starting.
 */
async function startSlowly(url: string, count: number) {
  const { hostname, port } = new URL(url);
  let refused = 0;
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    if (refused++ < count) return startingUp(socket);
    const behind = connect(Number(port), hostname);
    behind.on('error', () => socket.destroy());
    socket.pipe(behind).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const own = new URL(url);
  // Not the server's socket.
  own.search = '';
  own.port = String(typeof address === 'object' ? address?.port : '');
  return { url: own.href, refused: () => Math.min(refused, count), close: () => server.close() };
}

test('a program that starts while its database recovers waits for it', async () => {
  await using stage = await startTestProgram();
  await stage.stop();
  const slow = await startSlowly(String(stage.environment['DATABASE_URL']), 3);
  const config = loadConfig({ ...stage.environment, DATABASE_URL: slow.url });
  const program = await startProgram(config, { api: true, worker: true, sandbox: false });
  try {
    expect(slow.refused()).toBe(3);
    expect((await fetch(`${program.address}/health/ready`)).status).toBe(200);
  } finally {
    await program.stop();
    slow.close();
  }
});
