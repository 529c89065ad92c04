import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyReply } from 'fastify';
import { AppError } from '../errors.ts';
import type { App } from './app.ts';

/** The site of the documentation as built by scripts/build-docs.ts. */
const BUILT = fileURLToPath(new URL('../../../help/dist', import.meta.url));

const UNBUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Heliograph help</title>
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
export function helpRoutes(app: App, folder = BUILT): void {
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
  const page = isBuilt ? await readFile(join(folder, '404.html'), 'utf8').catch(() => UNKNOWN) : UNBUILT;
  return reply
    .code(404)
    .headers({ ...HEADERS, 'cache-control': 'no-cache' })
    .type('text/html; charset=utf-8')
    .send(page);
}
