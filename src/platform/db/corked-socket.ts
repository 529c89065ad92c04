import { Socket } from 'node:net';

/**
 * Creates a socket that sends what is written to it in one turn of the event loop with one system call. The driver writes
 * each statement of a pipeline for itself, and these calls were a quarter of the gateway's CPU time for single sends.
 */
export function createCorkedSocket(): Socket {
  const socket = new Socket();
  // `connect` gives every socket the plain `write` again.
  return socket.once('connect', () => corkWrites(socket));
}

/** Makes a connected socket send what is written to it in one turn of the event loop together. */
export function corkWrites(socket: Socket): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let isCorked = false;
  const uncork = (): void => {
    isCorked = false;
    socket.uncork();
  };
  socket.write = (...args: unknown[]): boolean => {
    // Not `socket.writableCorked`: the driver corks the parts of each statement itself.
    if (!isCorked) {
      isCorked = true;
      socket.cork();
      process.nextTick(uncork);
    }
    return write(...args);
  };
}
