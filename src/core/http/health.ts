import type { HookHandlerDoneFunction as Done, FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { AppError } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import { type App, withExamples } from './app.ts';

/** One check of /health/ready. `detail` is public: it must not contain addresses or secrets. */
export type Probe = {
  readonly name: string;
  /** True if a failure makes the program unable to serve requests (503); other failures are only reported. */
  readonly critical: boolean;
  check(): Promise<{ readonly ok: boolean; readonly detail: string }>;
};

export type HealthDeps = { readonly probes: readonly Probe[]; readonly metrics: Metrics };

/** Maximum age of a shared result. */
const SHARED_MS = 200;
/** A probe that has not returned by then counts as failed: callers time out soon. */
const PROBE_TIMEOUT_MS = 2_000;

const Live = Type.Object({ status: Type.Literal('ok') });
const Ready = Type.Object({
  status: Type.Enum(['ok', 'degraded', 'unavailable'], {
    type: 'string',
    description: 'degraded: a check failed, but requests are served.',
  }),
  checks: Type.Record(Type.String(), Type.Object({ ok: Type.Boolean(), detail: Type.String() })),
});
const NOT_READY: Static<typeof Ready> = {
  status: 'unavailable',
  checks: { database: { ok: false, detail: 'no response' } },
};

const open = { tags: ['Operation'], security: [] };

/**
 * Returns 404 for all spellings of a path but its own, such as /%6detrics and /metrics/: a proxy that hides the path
 * from the public compares it literally.
 */
function requireExactPath({ originalUrl, routeOptions }: FastifyRequest, _reply: FastifyReply, done: Done): void {
  done(originalUrl.split('?', 1)[0] === routeOptions.url ? undefined : new AppError('not_found'));
}

/** Registers the endpoints for load balancers, supervisors and Prometheus; they need no credentials. */
export function healthRoutes(app: App, { probes, metrics }: HealthDeps): void {
  const onRequest = requireExactPath;
  app.get('/health/live', {
    onRequest,
    schema: {
      ...open,
      operationId: 'healthLive',
      summary: 'Check that the process is running',
      response: { 200: Live },
    },
    handler: () => ({ status: 'ok' as const }),
  });

  const ready = shareRecent(() => checkAll(probes));
  app.get('/health/ready', {
    onRequest,
    schema: {
      ...open,
      operationId: 'healthReady',
      summary: 'Check that the program is ready, with the result of each check',
      response: { 200: Ready, 503: withExamples(Ready, NOT_READY) },
    },
    handler: async (_request, reply) => {
      const answer = await ready();
      return reply.code(answer.status === 'unavailable' ? 503 : 200).send(answer);
    },
  });

  const figures = shareRecent(() => metrics.scrape());
  app.get('/metrics', {
    onRequest,
    schema: {
      ...open,
      operationId: 'metrics',
      summary: 'Get metrics in the Prometheus text format',
      produces: ['text/plain'],
      response: { 200: Type.String() },
    },
    handler: async (_request, reply) => reply.type(metrics.registry.contentType).send(await figures()),
  });
}

type Result = { readonly ok: boolean; readonly detail: string };
type Readiness = { status: 'ok' | 'degraded' | 'unavailable'; checks: Record<string, Result> };

async function checkAll(probes: readonly Probe[]): Promise<Readiness> {
  const results = await Promise.all(probes.map(async (probe) => ({ probe, result: await checkOne(probe) })));
  const failed = results.filter(({ result }) => !result.ok);
  const status = failed.some(({ probe }) => probe.critical) ? 'unavailable' : failed.length > 0 ? 'degraded' : 'ok';
  return { status, checks: Object.fromEntries(results.map(({ probe, result }) => [probe.name, result])) };
}

async function checkOne(probe: Probe): Promise<Result> {
  const { promise: late, resolve } = Promise.withResolvers<Result>();
  const timer = setTimeout(() => resolve({ ok: false, detail: 'no response in time' }), PROBE_TIMEOUT_MS);
  // The text of an unexpected error may contain addresses: logging it is up to the probe.
  const result = probe.check().catch(() => ({ ok: false, detail: 'failed' }));
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}

/** Shares a call among its callers while it lasts and shortly after, so that a flood of requests costs little. */
function shareRecent<T>(find: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  const forget = (): void => {
    current = undefined;
  };
  return () => {
    current ??= find().finally(() => setTimeout(forget, SHARED_MS).unref());
    return current;
  };
}
