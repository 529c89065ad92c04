import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Returns a port that was free a moment ago, for a server that has to know its port before it listens. */
export async function findFreePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
