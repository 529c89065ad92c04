import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import type { App } from './app.ts';

/** What scripts/build-console.ts makes of web/. */
const BUILT = fileURLToPath(new URL('../../../web/dist', import.meta.url));

/** Addresses of the interface: what is unknown there is answered as JSON, never with a page. */
const NOT_PAGES = /^\/(api|services|partner-gateway|docs|openapi\.json|health|metrics|oauth|assets)(\/|$)/;

/** Stands in index.html where each answer gets a nonce of its own (web/vite.config.ts). */
const NONCE = 'CSP_NONCE';

const UNBUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Heliograph</title>
<h1>The console is not built</h1>
<p>The interface works. To build the console, run <code>node scripts/build-console.ts</code> where Heliograph is
installed with its development packages, and load this page again. The interface is described at
<a href="/docs">/docs</a>.</p></html>
`;

/** Answers addresses that are no route: a browser has them of a page of the console. */
export type Pages = {
  takes(request: FastifyRequest): boolean;
  send(reply: FastifyReply): Promise<FastifyReply>;
};

/** The console's files, and its page under every address that it may have. */
export type Console = { readonly pages: Pages; routes(app: App): void };

/**
 * The console, served at `/` and without credentials: what it shows, it asks the interface for. The policy lets it run
 * our scripts alone and reach us alone (and the file store, where links to files may lead); it holds for an inbound
 * text that got into the page as markup, too.
 */
export function createConsole({ storage }: Pick<Config, 'storage'>, folder = BUILT): Console {
  const fileOrigin = originOfStore(storage);
  const takes = ({ method, url, headers }: FastifyRequest): boolean =>
    (method === 'GET' || method === 'HEAD') &&
    !NOT_PAGES.test(url.split('?', 1)[0] ?? '/') &&
    /text\/html/.test(headers.accept ?? '');
  const send = async (reply: FastifyReply): Promise<FastifyReply> => {
    const page = await readFile(join(folder, 'index.html'), 'utf8').catch(() => UNBUILT);
    const nonce = randomBytes(16).toString('base64');
    const headers = pageHeaders(nonce, fileOrigin);
    return reply.code(200).headers(headers).type('text/html; charset=utf-8').send(page.replaceAll(NONCE, nonce));
  };
  return { pages: { takes, send }, routes: (app) => serveAssets(app, join(folder, 'assets')) };
}

/** Their names change with their content, so a browser keeps them for good. */
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

/** `default` is the one policy of trusted types that the page may make: it lets style sheets pass, and no markup. */
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

/** Where links to files lead, when they are not served by us. */
function originOfStore(storage: Config['storage']): string | undefined {
  if (storage.kind === 'file') return undefined;
  if (storage.endpoint !== undefined) return new URL(storage.endpoint).origin;
  return `https://${storage.bucket}.s3.${storage.region}.amazonaws.com`;
}
