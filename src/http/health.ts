import { Type } from 'typebox';
import type { ApiDeps, App, Probe } from './deps.ts';

/** A probe that has not answered by then counts as failed: whoever asks has little patience. */
const PROBE_TIMEOUT_MS = 2_000;

const Live = Type.Object({ status: Type.Literal('ok') });
const Ready = Type.Object({
  status: Type.Enum(['ok', 'unavailable'], { type: 'string' }),
  checks: Type.Record(Type.String(), Type.Object({ ok: Type.Boolean(), detail: Type.String() })),
});

const open = { tags: ['Operation'], security: [] };

/** For load balancers, supervisors and Prometheus; no credentials. */
export function healthRoutes(app: App, { probes, metrics }: ApiDeps): void {
  app.get('/health/live', {
    schema: { ...open, operationId: 'healthLive', summary: 'The process runs', response: { 200: Live } },
    handler: () => ({ status: 'ok' as const }),
  });

  const ready = shared(() => checkAll(probes));
  app.get('/health/ready', {
    schema: {
      ...open,
      operationId: 'healthReady',
      summary: 'The program can do its work: every check with its result',
      response: { 200: Ready, 503: Ready },
    },
    handler: async (_request, reply) => {
      const answer = await ready();
      return reply.code(answer.status === 'ok' ? 200 : 503).send(answer);
    },
  });

  app.get('/metrics', {
    schema: {
      ...open,
      operationId: 'metrics',
      summary: 'Measurements in the text format of Prometheus',
      produces: ['text/plain'],
      response: { 200: Type.String() },
    },
    handler: async (_request, reply) => reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  });
}

type Readiness = { status: 'ok' | 'unavailable'; checks: Record<string, { ok: boolean; detail: string }> };

async function checkAll(probes: readonly Probe[]): Promise<Readiness> {
  const results = await Promise.all(probes.map(checkOne));
  const checks = Object.fromEntries(probes.map(({ name }, at) => [name, results[at] ?? { ok: false, detail: '' }]));
  return { status: results.every(({ ok }) => ok) ? 'ok' : 'unavailable', checks };
}

async function checkOne(probe: Probe): Promise<{ ok: boolean; detail: string }> {
  const { promise: late, resolve } = Promise.withResolvers<{ ok: boolean; detail: string }>();
  const timer = setTimeout(() => resolve({ ok: false, detail: 'no answer in time' }), PROBE_TIMEOUT_MS);
  // The text of an unexpected error may name addresses: it is for the log, and the probe's own matter.
  const result = probe.check().catch(() => ({ ok: false, detail: 'failed' }));
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}

/** Those who ask while an answer is being found get the same one: no flood of questions reaches the database. */
function shared<T>(find: () => Promise<T>): () => Promise<T> {
  let current: Promise<T> | undefined;
  return () => {
    current ??= find().finally(() => {
      current = undefined;
    });
    return current;
  };
}
