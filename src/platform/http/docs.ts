import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import helmet from '@fastify/helmet';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from './app.ts';
import { compress, encodingFor } from './compression.ts';

const SCRIPT_THREAD = new URL('./docs-script-thread.ts', import.meta.url);

/** The API reference page. Its scripts are separate files, since the policy below forbids inline scripts. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Heliograph API reference</title>
  </head>
  <body>
    <div id="app"></div>
    <script src="/docs/scalar.js"></script>
    <script src="/docs/init.js"></script>
  </body>
</html>
`;

/**
 * Settings of Scalar. By default it fetches fonts, sends telemetry and offers its vendor's services: all of that is
 * off.
 */
const SETTINGS = {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
};
/** Uses the origin of the page as the server's URL, so that the examples can be run as they are. */
const INIT = `Scalar.createApiReference('#app', { ...${JSON.stringify(SETTINGS)}, servers: [{ url: location.origin }] });\n`;

/** Allows nothing from other origins and no inline scripts. Scalar writes inline styles, hence `unsafe-inline`. */
const POLICY = {
  defaultSrc: ["'self'"],
  styleSrc: ["'self'", "'unsafe-inline'"],
  imgSrc: ["'self'", 'data:'],
  objectSrc: ["'none'"],
  frameAncestors: ["'none'"],
  baseUri: ["'none'"],
};

/** Registers GET /openapi.json (the OpenAPI description) and /docs (a page that shows it); they need no credentials. */
export function docsRoutes(app: App): void {
  let text: string | undefined;
  const describe = (): string => (text ??= JSON.stringify(app.swagger()));
  // It holds the event loop for 50 to 150 ms: better now than during the first request for it.
  app.addHook('onListen', async () => void describe());
  const description = createDocument('application/json', async () => describe());
  const script = createDocument('text/javascript', loadScript);
  app.get('/openapi.json', { schema: { hide: true } }, description);
  app.register(async (scope) => {
    await scope.register(helmet, { contentSecurityPolicy: { useDefaults: false, directives: POLICY }, hsts: false });
    scope.get('/docs', { schema: { hide: true } }, (_request, reply) => file(reply, 'text/html', PAGE));
    scope.get('/docs/init.js', { schema: { hide: true } }, (_request, reply) => file(reply, 'text/javascript', INIT));
    scope.get('/docs/scalar.js', { schema: { hide: true } }, script);
  });
}

/**
 * Creates the handler of a large public document: it is made once, when it is first requested, and compressed once for
 * each encoding.
 */
function createDocument(type: string, make: () => Promise<string>) {
  let content: Promise<Buffer> | undefined;
  const compressed = new Map<string, Promise<Buffer>>();
  return async (request: FastifyRequest, reply: FastifyReply): Promise<Buffer> => {
    content ??= make().then((text) => Buffer.from(text));
    reply.type(`${type}; charset=utf-8`).headers({ 'cache-control': 'no-cache', vary: 'Accept-Encoding' });
    const encoding = encodingFor(request);
    if (encoding === undefined) return content;
    reply.header('content-encoding', encoding);
    const octets = compressed.get(encoding) ?? content.then((whole) => compress(whole, encoding));
    compressed.set(encoding, octets);
    return octets;
  };
}

const file = (reply: FastifyReply, type: string, content: string) =>
  reply.type(`${type}; charset=utf-8`).header('cache-control', 'no-cache').send(content);

/** Loads Scalar's script in a thread: its module takes 0.1 s of CPU and 43 MB, which end with the thread. */
async function loadScript(): Promise<string> {
  const thread = new Worker(SCRIPT_THREAD, { env: {} });
  const ended = once(thread, 'exit').then(() => Promise.reject(new Error('the script was not loaded')));
  const [script] = await Promise.race([once(thread, 'message'), ended]);
  return String(script);
}
