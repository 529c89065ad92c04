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
import { readJsonBodies } from './body.ts';
import { answerClientErrors } from './client-error.ts';
import type { Pages } from './console.ts';
import type { PlatformDeps, App } from './app.ts';
import { answerErrors, noRoute, sendFailure } from './errors.ts';
import { asAppError } from './failure.ts';
import { collectMethods } from './methods.ts';
import { trustedProxies } from './plaintext.ts';
import { observeRequests } from './request-log.ts';
import { validatorCompiler } from './validation.ts';

/** Of a body, unless the route says otherwise (`bodyLimit`). */
const BODY_LIMIT_BYTES = 1024 * 1024;
/** Path parameters: a client's own message id has up to 255 characters, each up to three octets escaped. */
const PARAM_LIMIT = 1024;

const NODE_OPTIONS: http.ServerOptions = {
  // A batch status names up to 1,000 ids in its URL: 37 KB of UUIDs, more with a client's own ids.
  maxHeaderSize: 128 * 1024,
  requestTimeout: 300_000,
  headersTimeout: 60_000,
  keepAliveTimeout: 72_000,
  // Node would answer a missing Host by itself, without a request id.
  requireHostHeader: false,
};

/** HTTPS with TLS_CERT and TLS_KEY, else HTTP. Not listening. Throws a StartupError when a file is not fit for it. */
export function createNodeServer({ tls }: Config, handler: http.RequestListener): http.Server {
  const server = tls ? createTlsServer(tls, handler) : http.createServer(NODE_OPTIONS, handler);
  // Node would answer an Expect that it does not know with 417 by itself; RFC 9110 10.1.1 lets us ignore it.
  return server.on('checkExpectation', handler);
}

function createTlsServer({ certFile, keyFile }: NonNullable<Config['tls']>, handler: http.RequestListener) {
  try {
    const files = { cert: readFileSync(certFile), key: readFileSync(keyFile) };
    return https.createServer({ ...NODE_OPTIONS, ...files, minVersion: 'TLSv1.2' }, handler);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new StartupError(`TLS_CERT and TLS_KEY cannot be used: ${reason}`, { cause });
  }
}

/** Where the server listens. Fastify alone would say http of every server that it did not make itself. */
export const originOf = (app: App, { tls }: Config): string =>
  tls ? app.listeningOrigin.replace(/^http:/, 'https:') : app.listeningOrigin;

/**
 * Fastify as every route finds it: a request id on each answer, plaintext refused, one shape of errors, JSON bodies,
 * validation, measurements. No routes yet, not listening, no database needed. `pages` answers what is no route.
 */
export function createServer(
  { config, log, metrics }: Pick<PlatformDeps, 'config' | 'log' | 'metrics'>,
  pages?: Pages,
): App {
  const isTrusted = trustedProxies(config.trustProxy);
  const admission = createAdmission(config, isTrusted);
  const logger: FastifyBaseLogger = log;
  const app = Fastify({
    serverFactory: (handler) => createNodeServer(config, handler),
    trustProxy: config.trustProxy.length > 0 ? (address: string) => isTrusted(address) : false,
    bodyLimit: BODY_LIMIT_BYTES,
    genReqId: () => randomUUIDv7(),
    requestIdHeader: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: PARAM_LIMIT },
    // A request that arrives while we stop is still answered; its connection closes after it.
    return503OnClosing: false,
    rewriteUrl: (request) => canonicalUrl(request.url ?? '/'),
    // A URL that the router cannot read: no hook runs for it.
    frameworkErrors: (error, request, reply) => {
      admission.stamp(request, reply);
      sendFailure(request, reply, admission.refusal(request) ?? asAppError(error));
    },
    clientErrorHandler: answerClientErrors(log),
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    // One logger for all requests: a child would be made for each, and hardly any of them logs.
    childLoggerFactory: () => logger,
  }).withTypeProvider<TypeBoxTypeProvider>();
  const allowedMethods = collectMethods(app);
  app.addHook('onRequest', (request, reply, done) => {
    admission.stamp(request, reply);
    const isUnknown = request.is404 && !pages?.takes(request);
    done(admission.refusal(request) ?? (isUnknown ? noRoute(request, reply, allowedMethods) : undefined));
  });
  app.addHook('onResponse', observeRequests(log, metrics));
  answerErrors(app, log, allowedMethods, pages);
  readJsonBodies(app);
  app.setValidatorCompiler(validatorCompiler(() => app.getSchemas()));
  return app;
}
