import { once } from 'node:events';
import net from 'node:net';

/** A connection on which a request has been sent, or a part of one. */
export type OpenRequest = {
  /** Sends more. */
  send(bytes: string | Buffer): void;
  /** Resolves with the status of the first response; rejects if the server closes the connection without one. */
  status(): Promise<number>;
  /** Resolves with everything that came back, once the server has closed the connection. */
  end(): Promise<string>;
  isClosed(): boolean;
  destroy(): void;
};

/** Connects from an address of this machine (127.0.0.1 by default, any 127.x.y.z) and sends these bytes. */
export async function openRequest(port: number, bytes = '', from = '127.0.0.1'): Promise<OpenRequest> {
  const socket = net.connect({ port, host: '127.0.0.1', localAddress: from });
  const status = Promise.withResolvers<number>();
  const end = Promise.withResolvers<string>();
  status.promise.catch(() => undefined);
  let answer = '';
  let isClosed = false;
  const receive = (text: string): void => {
    answer += text;
    const first = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1];
    if (first !== undefined) status.resolve(Number(first));
  };
  const close = (): void => {
    isClosed = true;
    status.reject(new Error('the connection was closed without a response'));
    end.resolve(answer);
  };
  socket
    .setEncoding('latin1')
    .on('data', receive)
    .on('error', () => undefined)
    .on('close', close);
  await once(socket, 'connect');
  socket.write(bytes);
  return {
    send: (more) => void socket.write(more),
    status: () => status.promise,
    end: () => end.promise,
    isClosed: () => isClosed,
    destroy: () => void socket.destroy(),
  };
}
