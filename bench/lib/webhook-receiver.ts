import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { TEST_CERT, TEST_KEY } from '../../test/support/http/certificate.ts';
import { p50, p99 } from './times.ts';

/** Requests received since the last call of `counts`, and the delay after publication in ms (healthy paths only). */
export type Counts = { readonly received: number; readonly p50Ms: number; readonly p99Ms: number };

export type ReceiverProcess = {
  readonly port: number;
  counts(): Promise<Counts>;
  stop(): Promise<void>;
};

/**
 * Starts a receiver in a separate process, by default with TLS. It acknowledges immediately, except under /dead, which it
 * never responds.
 */
export async function startReceiver(scheme: 'https' | 'http' = 'https'): Promise<ReceiverProcess> {
  const child = fork(import.meta.filename, [scheme], { execArgv: [] });
  const port = Number(await nextMessage(child));
  return {
    port,
    async counts() {
      child.send('counts');
      return (await nextMessage(child)) as Counts;
    },
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

const nextMessage = async (child: ChildProcess): Promise<unknown> => (await once(child, 'message'))[0];

function receive(scheme: string | undefined): void {
  let latencies: number[] = [];
  let received = 0;
  const keepAlive = { keepAliveTimeout: 60_000 };
  const onRequest: RequestListener = (request, response) => {
    let body = '';
    request.setEncoding('latin1');
    request.on('data', (text: string) => (body += text));
    request.on('end', () => {
      if (request.url?.startsWith('/dead')) return;
      received++;
      latencies.push(Date.now() - Date.parse(body.slice(body.indexOf('"timestamp":"') + 13, -2)));
      response.writeHead(200).end();
    });
  };
  const server =
    scheme === 'http'
      ? createServer(keepAlive, onRequest)
      : createTlsServer({ cert: TEST_CERT, key: TEST_KEY, ...keepAlive }, onRequest);
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address !== null && typeof address === 'object') process.send?.(address.port);
  });
  process.on('message', () => {
    process.send?.({ received, p50Ms: p50(latencies), p99Ms: p99(latencies) } satisfies Counts);
    latencies = [];
    received = 0;
  });
}

if (import.meta.main) receive(process.argv[2]);
