import { once } from 'node:events';
import type { Server, Socket } from 'node:net';

/** A listening socket that can be closed and reopened. */
export type Listener = {
  readonly port: number;
  /** Listens again on the same port. */
  open(): Promise<void>;
  /** Stops listening; open connections stay. */
  close(): void;
  /** Destroys every connection, even during its TLS handshake; resolves when all are closed. */
  drop(): Promise<void>;
};

/** Starts listening on a port that can be closed and reopened. Rejects when the port is not available. */
export async function createListener(server: Server, host: string, port: number): Promise<Listener> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // A client that aborts its TLS handshake is not an error of the server.
  server.on('tlsClientError', () => undefined);
  await listen(server, host, port);
  const address = server.address();
  const bound = typeof address === 'object' && address ? address.port : port;

  return {
    port: bound,
    open: async () => (server.listening ? undefined : listen(server, host, bound)),
    close: () => void (server.listening && server.close()),
    async drop() {
      const closing = [...sockets].map((socket) => once(socket, 'close'));
      for (const socket of sockets) socket.destroy();
      await Promise.allSettled(closing);
    },
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  await once(server, 'listening');
}
