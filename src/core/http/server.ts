import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http, { type Server } from 'node:http';
import https from 'node:https';
import { isIPv6 } from 'node:net';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import { endsWithin } from '../background.ts';
import type { Config } from '../config.ts';
import { explainListening, StartupError } from '../db/startup-error.ts';
import { faultPoint } from '../faults.ts';
import { newId } from '../ids.ts';
import { createAdmission, createProxyCheck } from './admission.ts';
import { type App, collectMethods, observeRequests, type PlatformDeps, respondEmpty } from './app.ts';
import { stepUpByDefault } from './auth.ts';
import { acceptJsonBodies, serializerCompiler, shareLoopInLargeMessages } from './body.ts';
import { applyBounds } from './bounds.ts';
import {
  answerClientErrors,
  asAppError,
  createEndConnection,
  registerErrorHandlers,
  sendError,
  unknownRouteError,
} from './errors.ts';
import { createDirect, type Direct, type DirectRoute } from './direct.ts';
import { compressAnswers, type Pages } from './pages.ts';
import { createFloods, createRefusalCounter, oneAtATime } from './unauthenticated.ts';
import { takeTurns } from './turns.ts';
import { warnOfUnknownFields } from './unknown-fields.ts';
import { validatorCompiler } from './validation.ts';

/** Fault point: replaces the handler that lets a connection have one request at a time. */
export const ONE_AT_A_TIME = faultPoint<typeof oneAtATime>();

/** Maximum size of a body, unless the route sets its own `bodyLimit`. */
export const MAX_BODY_BYTES = 1024 * 1024;
/**
 * Maximum length of path parameters: a client's own message id has up to 255 characters, and escaping can make each one
 * longer.
 */
const MAX_PARAM_LENGTH = 1024;

/**
 * Time for which a connection may wait for its next request. A proxy must close it first, or it sends a request on a
 * connection that we are closing, and returns 502. Google's proxies keep connections for 600 seconds, most others for
 * 60 to 120.
 */
export const KEEP_ALIVE_MS = 72_000;
/** Time for which a connection of a proxy (TRUST_PROXY) may wait for its next request. */
export const KEEP_ALIVE_BEHIND_PROXY_MS = 620_000;

/** An idle connection is closed after this time: its client does not read the response. */
export const IDLE_TIMEOUT_MS = 300_000;

/** Options of the server, with the limits of the headers and of the time for a request. */
export const NODE_OPTIONS = {
  // A batch status request has up to 1,000 ids in its URL: 37 KB of UUIDs, more with a client's own ids.
  maxHeaderSize: 128 * 1024,
  requestTimeout: 300_000,
  headersTimeout: 15_000,
  // Interval at which the two above are checked.
  connectionsCheckingInterval: 5_000,
  // Node itself would respond to a missing Host, without a request id.
  requireHostHeader: false,
} satisfies http.ServerOptions;

/**
 * Creates a server that does not listen yet: HTTPS with TLS_CERT and TLS_KEY, else HTTP. Throws a StartupError if the
 * certificate or the key cannot be used.
 */
export function createNodeServer({ tls, trustProxy }: Config, handler: http.RequestListener): http.Server {
  const server = tls ? createTlsServer(tls, handler) : http.createServer(NODE_OPTIONS, handler);
  server.keepAliveTimeout = trustProxy.length > 0 ? KEEP_ALIVE_BEHIND_PROXY_MS : KEEP_ALIVE_MS;
  server.timeout = IDLE_TIMEOUT_MS;
  // Node itself would respond to an unknown Expect with 417; RFC 9110 10.1.1 lets us ignore it.
  return server.on('checkExpectation', handler);
}

function createTlsServer({ certFile, keyFile }: NonNullable<Config['tls']>, handler: http.RequestListener) {
  try {
    const files = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    return https.createServer({ ...NODE_OPTIONS, ...files, minVersion: 'TLSv1.2', handshakeTimeout: 15_000 }, handler);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StartupError(`TLS_CERT and TLS_KEY cannot be used: ${reason}`, { cause });
  }
}

/** Corrects the scheme of an origin. Fastify reports http for every server that it did not create. */
const withScheme = (origin: string, { tls }: Pick<Config, 'tls'>): string =>
  tls ? origin.replace(/^http:/, 'https:') : origin;

export const originOf = (app: App, config: Config): string => withScheme(app.listeningOrigin, config);

/**
 * Creates the Fastify server that all routes share: a request id on each response, plaintext rejected, one shape of
 * errors, JSON bodies, validation, metrics. It has no routes yet, does not listen and needs no database. `pages` serves
 * paths that are not routes. Plain requests of `directRoute` bypass Fastify until the server closes.
 */
export function createServer(
  { config, log, metrics }: Pick<PlatformDeps, 'config' | 'log' | 'metrics'>,
  pages?: Pages,
  directRoute?: DirectRoute,
): App {
  const isTrusted = createProxyCheck(config.trustProxy);
  const admission = createAdmission(config, isTrusted);
  const end = createEndConnection(log);
  const count = createRefusalCounter(metrics);
  const floods = createFloods({ isTrusted, count });
  // One logger for all requests: Fastify would create a child for each, and hardly any request logs anything.
  const logger: FastifyBaseLogger = Object.create(log, { child: { value: () => logger } });
  let direct = directRoute && createDirect(directRoute, { log, metrics, admission });
  const app = Fastify({
    serverFactory: (handler) =>
      createNodeServer(
        config,
        ONE_AT_A_TIME.pass(oneAtATime)(
          (request, response) => (direct ?? toFramework)(request, response, handler),
          floods.end,
        ),
      ),
    trustProxy: config.trustProxy.length > 0 ? (address: string) => isTrusted(address) : false,
    bodyLimit: MAX_BODY_BYTES,
    genReqId: newId,
    requestIdHeader: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MAX_PARAM_LENGTH },
    // A request that arrives during shutdown still gets its response; its connection closes afterwards.
    return503OnClosing: false,
    rewriteUrl: (request) => canonicalUrl(request.url ?? '/'),
    // No hook runs for a URL that the router cannot parse.
    frameworkErrors: (error, request, reply) => {
      admission.stamp(request, reply);
      sendError(request, reply, admission.refusal(request) ?? asAppError(error));
    },
    clientErrorHandler: answerClientErrors(end),
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.decorateRequest('options', null);
  // Fastify then closes each connection after its response.
  app.addHook('preClose', (done) => {
    direct = undefined;
    done();
  });
  const allowedMethods = collectMethods(app);
  app.addHook('onRequest', (request, reply, done) => {
    admission.stamp(request, reply);
    const isUnknown = request.is404 && !pages?.handles(request);
    done(admission.refusal(request) ?? (isUnknown ? unknownRouteError(request, reply, allowedMethods) : undefined));
  });
  applyBounds(app, { config, count, isTrusted, end, floods, log });
  app.addHook('onResponse', observeRequests(log, metrics));
  registerErrorHandlers(app, log, allowedMethods, pages);
  acceptJsonBodies(app);
  takeTurns(app);
  stepUpByDefault(app);
  respondEmpty(app);
  compressAnswers(app);
  shareLoopInLargeMessages(app);
  warnOfUnknownFields(app);
  app.setValidatorCompiler(validatorCompiler(() => app.getSchemas()));
  app.setSerializerCompiler(serializerCompiler(() => app.getSchemas()));
  return app;
}

const toFramework: Direct = (request, response, framework) => framework(request, response);

type At = { readonly port: number; readonly setting: 'PORT' | 'WORKER_PORT' };

/**
 * Listens on HOST and a port (by default PORT) and returns the origin. Throws a StartupError if that is not possible.
 */
export async function listen(
  app: App,
  config: Config,
  at: At = { port: config.port, setting: 'PORT' },
): Promise<string> {
  const { host } = config;
  // Fastify assumes plain HTTP for every server that it did not create.
  const listenTextResolver = (address: string): string => `listening on ${withScheme(address, config)}`;
  await explainListening(app.listen({ host, port: at.port, listenTextResolver }), { ...at, host, hostSetting: 'HOST' });
  return originOf(app, config);
}

/** Listens with a plain server of Node on HOST and PORT, as `listen` does. */
export async function listenPlainly(server: Server, config: Config): Promise<string> {
  const { host, port, tls } = config;
  server.listen(port, host);
  await explainListening(once(server, 'listening'), { host, port, setting: 'PORT', hostSetting: 'HOST' });
  const address = server.address();
  const at = typeof address === 'object' && address !== null ? address : { address: host, port };
  return `${tls ? 'https' : 'http'}://${isIPv6(at.address) ? `[${at.address}]` : at.address}:${at.port}`;
}

const SWEEP_MS = 50;
/** Time limit for a server to close after its connections were closed. */
const GRACE_MS = 500;

/**
 * Stops accepting connections, lets requests in progress finish, and closes every connection that is left after
 * `deadlineMs`. Resolves when the server is closed and all onClose hooks have run, or half a second after the deadline:
 * the server cannot close a connection whose TLS handshake has not ended.
 */
export async function closeWithin(app: App, deadlineMs: number): Promise<void> {
  // A kept-alive connection becomes idle after its last response and would then delay the shutdown by a minute.
  const sweep = setInterval(() => app.server.closeIdleConnections(), SWEEP_MS);
  const closed = app.close();
  try {
    if (await endsWithin(closed, deadlineMs)) return;
    app.server.closeAllConnections();
    await endsWithin(closed, GRACE_MS);
  } finally {
    clearInterval(sweep);
  }
}

const PG = '/api/partner-gateway/v1';

/** Older and shorter forms of a prefix, each rewritten to the prefix that has the routes. */
const ALIASES: readonly (readonly [alias: string, prefix: string])[] = [
  ['/partner-gateway/v1', PG],
  ['/api/v1/partner-gateway', PG],
  ['/api/services', '/services'],
];
const CONVERSATIONS: readonly [string, string] = [`${PG}/conversations`, `${PG}/inbox/conversations`];

/**
 * Limit above the path of any route: a client's own ID has up to 255 characters, each of up to twelve when it is
 * escaped.
 */
const MAX_PATH_LENGTH = 8 * 1024;
/** A path without a route. */
const UNKNOWN = '/api/unknown';

/** Rewrites an alias to the URL under which its route is registered; the rest of path and query stays the same. */
export function canonicalUrl(url: string): string {
  // Decoding, normalising and logging a path of 100 KB take milliseconds.
  if (url.length > MAX_PATH_LENGTH && !url.slice(0, MAX_PATH_LENGTH).includes('?')) return UNKNOWN;
  for (const [alias, prefix] of ALIASES) {
    if (isUnder(url, alias)) return replaceConversations(prefix + url.slice(alias.length));
  }
  return replaceConversations(url);
}

const replaceConversations = (url: string): string =>
  isUnder(url, CONVERSATIONS[0]) ? CONVERSATIONS[1] + url.slice(CONVERSATIONS[0].length) : url;

/** Returns true if the URL is under the prefix as a path: `/v10` is not under `/v1`. */
function isUnder(url: string, prefix: string): boolean {
  if (!url.startsWith(prefix)) return false;
  const next = url.charAt(prefix.length);
  return next === '' || next === '/' || next === '?';
}
