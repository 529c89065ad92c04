import { once } from 'node:events';
import net from 'node:net';

/** The name of the parameter as a server sends it, and the major version that pg_basebackup of Debian 12 takes. */
const VERSION = Buffer.from('server_version\0');
const OLDER = Buffer.from('15');
/** The length of a request for encryption, which comes before the first message. */
const REQUEST_BYTES = 8;
/** FATAL, 57P03: the client goes on with its next host. */
const NOT_NOW = Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe server is not running\0\0');

/**
 * Passes connections on to a server, and makes its version 15 on the way: pg_basebackup refuses servers that are newer than
 * itself, although the protocol of copies is the same from 15 to 18. While there is no server, clients get an error that states it.
 */
export async function startVersionProxy(address: string, port: number, target: number): Promise<AsyncDisposable> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const upstream = net.connect(target, address);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => sockets.delete(from));
      upstream.on('connect', () => from.on('close', () => to.destroy()));
    }
    upstream.on('connect', () => client.pipe(upstream));
    upstream.on('error', () => refuse(client));
    let isSeen = false;
    upstream.on('data', (chunk: Buffer) => {
      const at = isSeen ? -1 : chunk.indexOf(VERSION);
      if (at >= 0) OLDER.copy(chunk, at + VERSION.length);
      isSeen ||= at >= 0;
      if (!client.write(chunk)) {
        upstream.pause();
        client.once('drain', () => upstream.resume());
      }
    });
  });
  server.listen(port, address);
  await once(server, 'listening');
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function refuse(client: net.Socket): void {
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(NOT_NOW.length + 4, 1);
  client.on('data', (chunk: Buffer) => {
    if (chunk.length === REQUEST_BYTES) client.write('N');
    else client.end(Buffer.concat([head, NOT_NOW]));
  });
}
