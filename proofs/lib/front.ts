import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { nginxIsMissing, startNginx } from '../../test/support/nginx.ts';

/** Reverse proxy in front of two cells. */
export type Front = {
  readonly origin: string;
  /**
   * True for nginx with the configuration of deploy/cells; otherwise a stand-in that is only as good as the responses
   * of the directory.
   */
  readonly isNginx: boolean;
  stop(): Promise<void>;
};

/** The origins of the directory and of the cells. */
type Behind = { readonly directory: string; readonly cells: readonly [string, string] };

/** Starts nginx in front of the cells or, where it is not installed, a router that does what the directory says. */
export async function startFront({ directory, cells: [first, second] }: Behind): Promise<Front> {
  const hostOf = (origin: string): string => new URL(origin).host;
  if (nginxIsMissing() !== undefined) return startRouter({ directory, cells: [first, second] });
  const nginx = await startNginx({ directory: hostOf(directory), cells: [hostOf(first), hostOf(second)] });
  return { origin: nginx.origin, isNginx: true, stop: nginx.stop };
}

/** The cells refuse plain HTTP: as if TLS ended here. */
const SECURE = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '127.0.0.1' };

async function startRouter({ directory, cells: [first, second] }: Behind): Promise<Front> {
  const groups: Readonly<Record<string, string>> = { cell_0: first, cell_1: second, any_cell: first };

  async function route(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const { method = 'GET', url = '/', headers } = incoming;
    const key = headers['x-api-key'];
    const asked = await fetch(`${directory}/cell`, {
      headers: { 'x-original-uri': url, ...(typeof key === 'string' && { 'x-api-key': key }) },
    });
    await asked.arrayBuffer();
    const origin = groups[asked.headers.get('x-heliograph-cell') ?? ''];
    if (origin === undefined) return void outgoing.writeHead(503).end();
    const sent = request(`${origin}${url}`, { method, headers: { ...headers, ...SECURE } });
    sent.end(Buffer.concat(chunks));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  }

  // A batch of ids is part of the URL.
  const server = createServer({ maxHeaderSize: 128 * 1024 }, (incoming, outgoing) => {
    route(incoming, outgoing).catch(() => outgoing.writeHead(502).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = Object(server.address());
  return {
    origin: `http://127.0.0.1:${port}`,
    isNginx: false,
    async stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
