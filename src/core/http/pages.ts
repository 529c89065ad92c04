import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import helmet from '@fastify/helmet';
import fastifyStatic from '@fastify/static';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import type { App } from './app.ts';

/** The console as built from web/ by scripts/build-console.ts. */
const BUILT = fileURLToPath(new URL('../../../web/dist', import.meta.url));

/** Paths of the API: unknown ones get a JSON response, never a page. */
const NOT_PAGES = /^\/(api|services|partner-gateway|docs|openapi\.json|health|metrics|oauth|assets|help)(\/|$)/;

/** Placeholder in index.html that each response replaces with a fresh nonce (web/vite.config.ts). */
const NONCE = 'CSP_NONCE';

const UNBUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Heliograph</title>
<h1>The console is not built</h1>
<p>The API is working. To build the console, run <code>node scripts/build-console.ts</code> where Heliograph is
installed with its development packages, and reload this page. The API reference is at
<a href="/docs">/docs</a>.</p></html>
`;

/** Serves paths that are not routes but may be pages of the console, opened in a browser. */
export type Pages = {
  handles(request: FastifyRequest): boolean;
  send(reply: FastifyReply): Promise<FastifyReply>;
};

/** The console: its asset files, and its page under every possible path. */
type Console = { readonly pages: Pages; routes(app: App): void };

/**
 * Creates the console, which is served at `/` without credentials: it gets all its data from the API. Its content
 * security policy allows only our own scripts and connections only to us (and to the file store, where links to files
 * may lead), so that an inbound text injected into the page as markup could do nothing.
 */
export function createConsole({ storage }: Pick<Config, 'storage'>, folder = BUILT): Console {
  const fileOrigin = originOfStore(storage);
  function handles({ method, url, headers }: FastifyRequest): boolean {
    const path = url.split('?', 1)[0] ?? '/';
    if (method !== 'GET' && method !== 'HEAD') return false;
    // Uptime probes and curl request `/` without stating that they accept pages.
    return path === '/' || (!NOT_PAGES.test(path) && /text\/html/.test(headers.accept ?? ''));
  }
  const send = async (reply: FastifyReply): Promise<FastifyReply> => {
    const page = await readFile(join(folder, 'index.html'), 'utf8').catch(() => UNBUILT);
    const nonce = randomBytes(16).toString('base64');
    const headers = pageHeaders(nonce, fileOrigin);
    return reply.code(200).headers(headers).type('text/html; charset=utf-8').send(page.replaceAll(NONCE, nonce));
  };
  return { pages: { handles, send }, routes: (app) => serveAssets(app, join(folder, 'assets')) };
}

/** File names change with their content, so browsers may cache them forever. */
function serveAssets(app: App, root: string): void {
  app.register(fastifyStatic, {
    root,
    prefix: '/assets/',
    index: false,
    decorateReply: false,
    schemaHide: true,
    preCompressed: true,
    immutable: true,
    maxAge: '1y',
    // The page states that the console is not built, and an installation without it (`api` alone) is not faulty.
    suppressWarning: true,
  });
}

function pageHeaders(nonce: string, fileOrigin: string | undefined): Record<string, string> {
  return {
    'content-security-policy': contentPolicy(nonce, fileOrigin),
    'cache-control': 'no-cache',
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  };
}

/** `default` is the only trusted types policy that the page may create: it permits style sheets but no markup. */
function contentPolicy(nonce: string, fileOrigin: string | undefined): string {
  const ours = ["'self'", ...(fileOrigin === undefined ? [] : [fileOrigin])].join(' ');
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    ...['connect-src', 'img-src', 'media-src'].map((kind) => `${kind} ${ours}`),
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "object-src 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types default',
  ].join('; ');
}

/** The origin that links to files lead to, if we do not serve the files ourselves. */
function originOfStore(storage: Config['storage']): string | undefined {
  if (storage.kind === 'file') return undefined;
  if (storage.endpoint !== undefined) return new URL(storage.endpoint).origin;
  return `https://${storage.bucket}.s3.${storage.region}.amazonaws.com`;
}

/** The site of the documentation as built by scripts/build-docs.ts. */
const BUILT_HELP = fileURLToPath(new URL('../../../help/dist', import.meta.url));

const UNBUILT_HELP = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Heliograph help</title>
<h1>The documentation is not built here</h1>
<p>Packages and images contain it. In a clone, <code>npm run build:docs</code> builds it in about half a minute: reload this page
then. Its pages are also the Markdown files in the folder <code>docs</code>, beginning with <code>docs/README.md</code>. The API
reference is at <a href="/docs">/docs</a>.</p></html>
`;
const UNKNOWN = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Not found</title><h1>Page not found</h1>';

/**
 * Headers of the pages: only our own files are allowed, and no inline script. The generator colours code by style
 * attributes, hence `unsafe-inline` only for these; icons in its style sheet are data URLs.
 */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "object-src 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

/**
 * Registers GET /help: the site of the documentation, without credentials. Files in `assets` have names that change
 * with their content and are cached for a year, all others are revalidated. An unknown page is 404, for browsers with a
 * page; without a built site, that page gives the location of the Markdown and the build command.
 */
export function helpRoutes(app: App, folder = BUILT_HELP): void {
  app.register(
    async (scope: App) => {
      scope.setNotFoundHandler(({ headers }, reply) => {
        if (!/\btext\/html\b/i.test(headers.accept ?? '')) throw new AppError('not_found');
        return sendUnknown(reply, folder);
      });
      await scope.register(fastifyStatic, {
        root: folder,
        prefix: '/',
        schemaHide: true,
        preCompressed: true,
        cacheControl: false,
        setHeaders: (reply, path) => setHeaders(reply, relative(folder, resolve(folder, path))),
        // The page itself states that the site is not built.
        suppressWarning: true,
      });
      // The router treats both as one path. Pages identify their own by the text after `/help/`.
      scope.get('/', { schema: { hide: true }, prefixTrailingSlash: 'no-slash' }, (request, reply) =>
        request.originalUrl.startsWith('/help/') ? reply.sendFile('index.html') : reply.redirect('/help/', 308),
      );
    },
    { prefix: '/help' },
  );
}

function setHeaders(reply: FastifyReply, path: string): void {
  const isImmutable = /^assets[\\/]/.test(path);
  const cacheControl = isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache';
  reply.headers({ ...HEADERS, 'cache-control': cacheControl });
}

async function sendUnknown(reply: FastifyReply, folder: string): Promise<FastifyReply> {
  const isBuilt = await readFile(join(folder, 'index.html')).then(
    () => true,
    () => false,
  );
  const page = isBuilt ? await readFile(join(folder, '404.html'), 'utf8').catch(() => UNKNOWN) : UNBUILT_HELP;
  return reply
    .code(404)
    .headers({ ...HEADERS, 'cache-control': 'no-cache' })
    .type('text/html; charset=utf-8')
    .send(page);
}

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
    const bytes = compressed.get(encoding) ?? content.then((whole) => compress(whole, encoding));
    compressed.set(encoding, bytes);
    return bytes;
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

/** Encodings in order of preference. */
const ENCODINGS = ['br', 'gzip'] as const;
type Encoding = (typeof ENCODINGS)[number];

/** Shorter responses fit in a few packets as they are: compressing them would cost more than it saves. */
const MIN_BYTES = 8 * 1024;

/** A better ratio would cost far more time: at 11, brotli needs seconds for a megabyte. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const GZIP = { level: 6 };

const brotliBytes = promisify(brotliCompress);
const gzipBytes = promisify(gzip);

/** Returns the encoding in which a client prefers a large response; undefined for one that accepts none of ours. */
const encodingFor = ({ headers }: Pick<FastifyRequest, 'headers'>): Encoding | undefined =>
  negotiate(String(headers['accept-encoding'] ?? ''), [...ENCODINGS]) ?? undefined;

/** Compresses a response outside the event loop, in Node's thread pool. */
const compress = (bytes: string | Buffer, encoding: Encoding): Promise<Buffer> =>
  encoding === 'br' ? brotliBytes(bytes, BROTLI) : gzipBytes(bytes, GZIP);

/**
 * Compresses JSON responses of 8 KiB or more for clients that accept brotli or gzip. Streams pass unchanged: files keep
 * their ranges and ETags, and live views are not delayed. Call it before the routes are registered.
 *
 * Compressed responses cannot be used to guess a secret by their length: no other site can obtain a response made with
 * a user's credentials, since the cookie is SameSite=Strict and keys travel in a header.
 */
export function compressAnswers(app: App): void {
  app.addHook('onRoute', (route) => {
    // A hook of the route runs after those of the server, which store the response or add to it.
    route.onSend = [route.onSend ?? []].flat().concat((request, reply, payload: unknown, done) => {
      if (!isLarge(payload) || request.method === 'HEAD' || reply.hasHeader('content-encoding'))
        return done(null, payload);
      if (!String(reply.getHeader('content-type')).startsWith('application/json')) return done(null, payload);
      reply.header('vary', 'Accept-Encoding');
      const encoding = encodingFor(request);
      if (encoding === undefined) return done(null, payload);
      reply.removeHeader('content-length').header('content-encoding', encoding);
      compress(payload, encoding).then((bytes) => done(null, bytes), done);
    });
  });
}

const isLarge = (payload: unknown): payload is string | Buffer =>
  (typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length >= MIN_BYTES;
