import { once } from 'node:events';
import type { Server, Socket } from 'node:net';

export type Listener = {
  readonly port: number;
  /** Listens again on the same port. */
  open(): Promise<void>;
  /** Stops listening. Connections stay. */
  close(): void;
  /** Cuts every connection, also one in the middle of its TLS handshake; resolves when they are gone. */
  drop(): Promise<void>;
};

/** A server that can be closed and opened again on its port. Rejects when the port cannot be had. */
export async function createListener(server: Server, host: string, port: number): Promise<Listener> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // A client that breaks off its TLS handshake is no fault of the server.
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
