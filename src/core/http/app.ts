import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  HookHandlerDoneFunction,
} from 'fastify';
import type { Pool } from 'pg';
import { type Static, type TSchema, Type } from 'typebox';
import type { Authenticate, CheckPassword, SignInLimits } from '../actor.ts';
import type { Config } from '../config.ts';
import type { RowsOfPage } from '../db/query.ts';
import type { Reports } from '../db/reports.ts';
import type { AnswerStore } from '../idempotency.ts';
import type { AppLog } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { SecretKey } from '../secrets.ts';
import type { LinkSigner, Storage } from '../storage.ts';
import type { Clock } from '../time.ts';
import { readTraceContext } from '../tracing.ts';

/** The HTTP server as features see it: a route's TypeBox schemas are the types of its request and its response. */
export type App = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, TypeBoxTypeProvider>;

/**
 * The dependencies that every route may use. Routes that need something of another feature add it, as in
 * `PlatformDeps & { readonly accept: Accept }`; `api.ts` assembles all of them.
 */
export type PlatformDeps = {
  readonly config: Config;
  readonly pool: Pool;
  readonly reports: Reports;
  readonly log: AppLog;
  readonly metrics: Metrics;
  readonly authenticate: Authenticate;
  readonly checkPassword: CheckPassword;
  readonly signInLimits: SignInLimits;
  readonly clock: Clock;
  readonly secretKey: SecretKey;
  /** The stored responses to requests with an Idempotency-Key. */
  readonly answers: AnswerStore;
  /** The store of uploaded and exported files. */
  readonly storage: Storage;
  /** Signs the links that open files without credentials. */
  readonly links: LinkSigner;
};

const warnings = Type.Optional(
  Type.Array(Type.String(), {
    description: 'With 400: the unknown fields of the request. One of them may be the missing field.',
  }),
);

const retryAfter = Type.Optional(Type.Integer({ description: 'Seconds to wait; the same as in Retry-After.' }));

/** The shape of every error. It is only for the OpenAPI description; nothing is serialised through it. */
export const ErrorOut = Type.Object(
  {
    status: Type.Integer({ description: 'The HTTP status.' }),
    error: Type.String({ description: 'The name of the status.' }),
    message: Type.String({ description: 'Human-readable error message.' }),
    requestId: Type.String({ format: 'uuid', description: 'The same as in the X-Request-Id header.' }),
    code: Type.Optional(
      Type.String({
        description:
          '`step_up_required`: the session must first confirm that it is the user, with `POST /session/step-up`. ' +
          '`second_factor_required`: the user must first add a second factor. Those of verifications: ' +
          '`verification_blocked`, `challenge_required`, `no_open_verification`, `already_used`, `resend_too_soon`, ' +
          '`too_many_codes`, `number_locked`, `cost_cap`. Absent in all other errors.',
      }),
    ),
    reasons: Type.Optional(
      Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description: 'What the guard of a verification found.',
      }),
    ),
    challenge: Type.Optional(
      Type.String({
        description: 'With `challenge_required`: the token that your server signs when the user has passed.',
      }),
    ),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          field: Type.String({ description: 'Dotted path, for example `messages[0].destinations`.' }),
          message: Type.String(),
        }),
        { description: 'Every invalid field; absent if the error is not about fields.' },
      ),
    ),
    retryAfter,
    warnings,
  },
  { $id: 'Error', description: 'Error' },
);

/** The shape of errors of the wholesale API. */
export const WholesaleErrorOut = Type.Object(
  {
    status: Type.Literal('error'),
    message: Type.String(),
    code: Type.Integer({ description: 'The HTTP status.' }),
    requestId: Type.String({ format: 'uuid', description: 'The same as in the X-Request-Id header.' }),
    retryAfter,
    warnings,
  },
  { $id: 'WholesaleError', description: 'Error' },
);

/** The schemas listed under `components` in the OpenAPI description; routes refer to them with `ref`. */
export const SHARED_SCHEMAS: readonly TSchema[] = [ErrorOut, WholesaleErrorOut];

/** A reference to a schema with an `$id`, typed as that schema. Using the schema itself would copy it. */
export const ref = <S extends TSchema & { $id?: string }>(schema: S) =>
  Type.Unsafe<Static<S>>({ $ref: `${schema.$id}#` });

/**
 * Gives the body of one operation examples: requests that work against the demo account of a fresh start, or show the
 * form of data that only a device or another server can produce. They appear in the OpenAPI description, and a test
 * sends them. The schema itself is not changed, so that several operations can share it.
 */
export const withExamples = <S extends TSchema>(schema: S, ...examples: readonly [Static<S>, ...Static<S>[]]): S => {
  // TypeBox hides its markers from a spread: they are not enumerable.
  const copy: S = Object.create(Object.getPrototypeOf(schema), Object.getOwnPropertyDescriptors(schema));
  return Object.assign(copy, { examples });
};

/** The query fields of every list: page from 0, limit 10 by default and at most 1,000 (else 400). */
export const PageQuery = Type.Object({
  page: Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0, description: 'Page number, from 0.' }),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 10, description: 'Entries per page.' }),
});

/** The fields of `PageQuery`, for lists that also filter or sort: `Type.Object({ ...pageFields, search: … })`. */
export const pageFields = PageQuery.properties;

/** The response schema of every list. */
export const PageOf = <S extends TSchema>(item: S) =>
  Type.Object({
    data: Type.Array(item),
    page: Type.Integer(),
    limit: Type.Integer(),
    total: Type.Integer({ description: 'Exact number of entries on all pages.' }),
  });

export type PageRequest = Static<typeof PageQuery>;
type Page<T> = PageRequest & { readonly data: T[]; readonly total: number };

/** The OFFSET of a page: the number of rows to skip. */
export const offsetOf = ({ page, limit }: PageRequest): number => page * limit;

/** Builds the response of a list. */
export const pageOf = <T>({ page, limit }: PageRequest, data: T[], total: number): Page<T> => ({
  data,
  page,
  limit,
  total,
});

/** Builds the response of a list from a page of its rows. */
export async function answerPage<R, T>(
  query: PageRequest,
  reading: Promise<RowsOfPage<R>>,
  toOut: (row: R) => T,
): Promise<Page<T>> {
  const { rows, total } = await reading;
  return pageOf(query, rows.map(toOut), total);
}

/**
 * Gives every route whose only success is 204 that status, so that its handler only does its work. Call it before the
 * routes are registered.
 */
export function respondEmpty(app: App): void {
  app.addHook('onRoute', (route) => {
    const { response } = route.schema ?? {};
    const successes = Object.keys(response ?? {}).filter((status) => status.startsWith('2'));
    if (successes.join() === '204') route.preHandler = [route.preHandler ?? [], setEmpty].flat();
  });
}

const setEmpty = (_request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
  reply.code(204);
  done();
};

/**
 * Collects the methods of every route, for 405 and its Allow header. Call it before the routes are registered. The
 * returned function returns the union over all matching patterns: if `/list` and `/:id` both exist, `/list` has the
 * methods of both, as in the router.
 */
export function collectMethods(app: App): (path: string) => readonly string[] {
  const patterns = new Map<string, { readonly matches: RegExp; readonly methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const entry = patterns.get(url) ?? { matches: expression(url), methods: new Set<string>() };
    for (const each of [method].flat()) entry.methods.add(each);
    patterns.set(url, entry);
  });
  return (path) => {
    const matching = [...patterns.values()].filter((pattern) => pattern.matches.test(path));
    return [...new Set(matching.flatMap((pattern) => [...pattern.methods]))].sort();
  };
}

/** Turns a router pattern into an expression: `:name` is one segment, `*` the rest; a trailing slash is ignored. */
function expression(pattern: string): RegExp {
  const source = pattern
    .replace(/\/$/, '')
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replace(/:\w+/g, '[^/]+');
  return new RegExp(`^${source}/?$`);
}

/** The header in which every response carries our request id (specification, "General behaviour" 1). */
export const REQUEST_ID = 'x-request-id';

/**
 * Returns the client's own request id, for the log only; undefined unless it is 1 to 128 printable ASCII characters.
 */
function clientRequestId(request: FastifyRequest): string | undefined {
  const id = request.headers[REQUEST_ID];
  return typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id) ? id : undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The result of `optionsOf`. */
    options: FastifyRequest['routeOptions'] | null;
  }
}

/** Returns the options of a request's route. Fastify makes an object of them at each read, and hooks read ten times. */
export const optionsOf = (request: FastifyRequest): FastifyRequest['routeOptions'] =>
  (request.options ??= request.routeOptions);

/** Returns the pattern of the matched route, for logs and metrics: the URL may contain ids, phone numbers and keys. */
export const routeOf = (request: FastifyRequest): string => optionsOf(request).url ?? 'none';

/**
 * The fields that identify a request in the log; its place in the trace of its caller only if the caller records it.
 */
export const requestFields = (request: FastifyRequest) => ({
  requestId: request.id,
  clientRequestId: clientRequestId(request),
  ...traceFields(request),
  method: request.method,
  route: routeOf(request),
});

function traceFields({ headers }: FastifyRequest) {
  const context = readTraceContext(headers['traceparent'], undefined);
  return context?.sampled ? { traceId: context.traceId, spanId: context.spanId } : {};
}

/**
 * Creates an onResponse hook that records the duration of every request and logs it (at debug level below status 400).
 */
export function observeRequests(log: AppLog, { httpSeconds }: Metrics) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const [route, status, ms] = [routeOf(request), reply.statusCode, reply.elapsedTime];
    httpSeconds.observe({ method: request.method, route, status }, ms / 1000);
    const level = status < 400 ? 'debug' : 'info';
    if (log.isLevelEnabled(level)) log[level](logFields(request, status, ms), 'request');
    done();
  };
}

const logFields = (request: FastifyRequest, status: number, ms: number) => ({
  ...requestFields(request),
  status,
  ms: Math.round(ms * 10) / 10,
  // Undefined on routes without authentication, despite the type.
  accountId: 'actor' in request ? request.actor?.accountId : undefined,
});
