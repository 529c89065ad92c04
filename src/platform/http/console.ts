import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
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
export type Console = { readonly pages: Pages; routes(app: App): void };

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
