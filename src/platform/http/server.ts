import { randomUUIDv7 } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import Fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Config } from '../config.ts';
import { StartupError } from '../db/startup-error.ts';
import { createAdmission } from './admission.ts';
import { canonicalUrl } from './aliases.ts';
import { acceptJsonBodies } from './body.ts';
import { applyBounds } from './bounds/bounds.ts';
import { createFloods, oneAtATime } from './bounds/pipelining.ts';
import { createRefusalCounter } from './bounds/refusals.ts';
import { answerClientErrors, createEndConnection } from './client-error.ts';
import { compressAnswers } from './compression.ts';
import type { Pages } from './console.ts';
import type { PlatformDeps, App } from './app.ts';
import { registerErrorHandlers, unknownRouteError, sendError } from './errors.ts';
import { asAppError } from './failure.ts';
import { shareLoopInLargeMessages } from './large-messages.ts';
import { collectMethods } from './methods.ts';
import { createProxyCheck } from './plaintext.ts';
import { observeRequests } from './request-log.ts';
import { stepUpByDefault } from './step-up.ts';
import { takeTurns } from './turns.ts';
import { warnOfUnknownFields } from './unknown-fields/warn.ts';
import { validatorCompiler } from './validation/validation.ts';

/** Maximum size of a body, unless the route sets its own `bodyLimit`. */
const MAX_BODY_BYTES = 1024 * 1024;
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
const KEEP_ALIVE_MS = 72_000;
const KEEP_ALIVE_BEHIND_PROXY_MS = 620_000;

/** An idle connection is closed after this time: its client does not read the response. */
const IDLE_TIMEOUT_MS = 300_000;

const NODE_OPTIONS: http.ServerOptions = {
  // A batch status request has up to 1,000 ids in its URL: 37 KB of UUIDs, more with a client's own ids.
  maxHeaderSize: 128 * 1024,
  requestTimeout: 300_000,
  headersTimeout: 15_000,
  // Interval at which the two above are checked.
  connectionsCheckingInterval: 5_000,
  // Node itself would respond to a missing Host, without a request id.
  requireHostHeader: false,
};

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
export const withScheme = (origin: string, { tls }: Pick<Config, 'tls'>): string =>
  tls ? origin.replace(/^http:/, 'https:') : origin;

/** The origin on which the server listens. */
export const originOf = (app: App, config: Config): string => withScheme(app.listeningOrigin, config);

/**
 * Creates the Fastify server that all routes share: a request id on each response, plaintext rejected, one shape of
 * errors, JSON bodies, validation, metrics. It has no routes yet, does not listen and needs no database. `pages` serves
 * paths that are not routes.
 */
export function createServer(
  { config, log, metrics }: Pick<PlatformDeps, 'config' | 'log' | 'metrics'>,
  pages?: Pages,
): App {
  const isTrusted = createProxyCheck(config.trustProxy);
  const admission = createAdmission(config, isTrusted);
  const end = createEndConnection(log);
  const count = createRefusalCounter(metrics);
  const floods = createFloods({ isTrusted, count });
  const logger: FastifyBaseLogger = log;
  const app = Fastify({
    serverFactory: (handler) => createNodeServer(config, oneAtATime(handler, floods.end)),
    trustProxy: config.trustProxy.length > 0 ? (address: string) => isTrusted(address) : false,
    bodyLimit: MAX_BODY_BYTES,
    genReqId: () => randomUUIDv7(),
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
    // One logger for all requests: Fastify would create a child for each, and hardly any request logs anything.
    childLoggerFactory: () => logger,
  }).withTypeProvider<TypeBoxTypeProvider>();
  const allowedMethods = collectMethods(app);
  app.addHook('onRequest', (request, reply, done) => {
    admission.stamp(request, reply);
    const isUnknown = request.is404 && !pages?.handles(request);
    done(admission.refusal(request) ?? (isUnknown ? unknownRouteError(request, reply, allowedMethods) : undefined));
  });
  applyBounds(app, { config, count, isTrusted, end, floods });
  app.addHook('onResponse', observeRequests(log, metrics));
  registerErrorHandlers(app, log, allowedMethods, pages);
  acceptJsonBodies(app);
  takeTurns(app);
  stepUpByDefault(app);
  compressAnswers(app);
  shareLoopInLargeMessages(app);
  warnOfUnknownFields(app);
  app.setValidatorCompiler(validatorCompiler(() => app.getSchemas()));
  return app;
}
