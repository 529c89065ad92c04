import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createClient, SEND } from '../support/client.ts';
import { TEST_CERT } from '../support/http/certificate.ts';
import { type CollectedSpan, type Collector, startCollector } from '../support/http/collector.ts';
import { type Receiver, startReceiver } from '../support/http/receiver.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { startServeProcess } from '../support/serve-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const PHONE = '393331234567';
const TEXT = 'Your secret code is 815-4711';
const CALLER = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const traceparent = (flags: '00' | '01'): string => `00-${CALLER.traceId}-${CALLER.spanId}-${flags}`;

/** A database, a carrier and a receiver of webhooks; the processes are those that each test starts. */
let stage: TestProgram;
let receiver: Receiver;
let folder: string;
let secret: string;
beforeAll(async () => {
  receiver = await startReceiver();
  folder = await temporaryFolder('heliograph-test-telemetry-');
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, TEST_CERT);
  stage = await startTestProgram({
    roles: { api: false, worker: false },
    environment: {
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      WEBHOOK_PORTS: String(receiver.port),
      WEBHOOK_CA_FILE: caFile,
      LOG_LEVEL: 'debug',
    },
  });
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function collector(): Promise<Collector> {
  const started = await startCollector();
  onTestFinished(() => started[Symbol.asyncDispose]());
  return started;
}

/** Starts a command with these settings; `stop` ends it and returns how long that took. */
async function run(command: 'serve' | 'api' | 'worker', settings: Readonly<Record<string, string>>) {
  const program = startServeProcess(command, { ...stage.environment, ...settings });
  onTestFinished(() => program[Symbol.dispose]());
  const ready = await program.ready;
  if (!ready) throw new Error(`the program did not start: ${program.errors()}`);
  const client = createClient(() => ready.address ?? '', stage.account.apiKey);
  const stop = async (): Promise<number> => {
    program.signal('SIGTERM');
    const { code, ms } = await program.ended;
    expect(code, program.errors()).toBe(0);
    return ms;
  };
  return { client, stop, errors: program.errors };
}
type Running = Awaited<ReturnType<typeof run>>;

async function registerWebhook({ client }: Pick<Running, 'client'>): Promise<void> {
  const path = '/api/partner-gateway/v1/webhooks/delivery-status';
  const { status, body } = await client.request('POST', path, { body: { callbackUrl: receiver.url } });
  if (status === 201) secret = (body as { secret: string }).secret;
  else expect(status).toBe(409);
}

/** Sends a message and waits for the webhook of its delivery; returns its id and the headers of its webhooks. */
async function sendOne({ client }: Pick<Running, 'client'>, headers: Readonly<Record<string, string>> = {}) {
  const body = { phoneNumber: `+${PHONE}`, message: TEXT };
  const answer = await client.request('POST', SEND, { body, headers });
  expect(answer.status).toBe(200);
  const { messageId } = answer.body as { messageId: string };
  const posts = await until('its webhooks', () => {
    const own = receiver.requests.filter((request) => request.body.includes(messageId));
    return own.length >= 2 && own;
  });
  return { messageId, posts: posts.map((post) => post.headers) };
}

const TRACED = { OTEL_TRACES_SAMPLER_ARG: '1' };

/** Checks that a trace has all stages with the right parents, and returns them by name. */
function expectWholeTrace(spans: readonly CollectedSpan[], traceId: string): Map<string, CollectedSpan[]> {
  const own = spans.filter((span) => span.traceId === traceId);
  const byName = Map.groupBy(own, ({ name }) => name);
  expect([...byName].map(([name, { length }]) => [name, length]).toSorted()).toEqual([
    ['accept', 1],
    ['claim', 1],
    ['receipt', 1],
    ['submit', 1],
    ['webhook', 2],
  ]);
  const accept = byName.get('accept')?.[0];
  for (const span of own) {
    expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
    if (span !== accept) expect(span.parentSpanId, span.name).toBe(accept?.spanId);
  }
  expect(new Set(own.map(({ spanId }) => spanId)).size).toBe(own.length);
  return byName;
}

test('a message is one trace over all its stages; metrics and logs arrive too; and nothing that is secret does', async () => {
  const target = await collector();
  const program = await run('serve', {
    ...TRACED,
    OTEL_EXPORTER_OTLP_ENDPOINT: target.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-scope-orgid=acme',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    // The SDK would read these, and nobody may set what is not in our table.
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1/elsewhere',
    OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'x-unlisted=1',
    OTEL_BSP_MAX_QUEUE_SIZE: '0',
  });
  await registerWebhook(program);
  const { messageId, posts } = await sendOne(program);
  await program.client.request('GET', '/no-such-path', { headers: { traceparent: traceparent('01') } });
  await program.stop();

  const stages = expectWholeTrace(target.spans(), messageId.replaceAll('-', ''));
  expect(stages.get('accept')?.[0]?.parentSpanId ?? '').toBe('');
  for (const { traceparent: posted } of posts)
    expect(stages.get('webhook')?.map(({ spanId }) => `00-${messageId.replaceAll('-', '')}-${spanId}-01`)).toContain(
      posted,
    );
  const submit = Object.fromEntries(
    stages.get('submit')?.[0]?.attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]) ?? [],
  );
  expect(submit).toEqual({
    'heliograph.account.id': stage.account.accountId,
    'heliograph.message.id': messageId,
    'heliograph.connection': 'main',
    'heliograph.status': 'ACCEPTED',
  });

  for (const name of [
    'heliograph_connection_up',
    'heliograph_http_request_duration_seconds',
    'process_cpu_seconds_total',
  ])
    expect(target.metricNames()).toContain(name);
  const line = target.logs().find(({ body, traceId }) => body.stringValue === 'request' && traceId === CALLER.traceId);
  expect(line).toMatchObject({ severityText: 'info' });
  for (const attributes of target.resources())
    expect(attributes).toEqual(
      expect.arrayContaining([
        { key: 'service.name', value: { stringValue: 'heliograph' } },
        { key: 'deployment.environment.name', value: { stringValue: 'test' } },
      ]),
    );
  for (const { headers } of target.requests) {
    expect(headers).toMatchObject({ 'x-scope-orgid': 'acme' });
    expect(headers).not.toHaveProperty('x-unlisted');
  }

  const everything = target.requests.map(({ body }) => body).join('\n');
  for (const forbidden of [PHONE, TEXT, '815-4711', stage.account.apiKey, stage.account.password, secret])
    expect(everything).not.toContain(forbidden);
});

test('the trace of the caller goes on through other processes to the webhook, whatever our own share is', async () => {
  const target = await collector();
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: target.url, OTEL_TRACES_SAMPLER_ARG: '0' };
  const [api, worker] = await Promise.all([run('api', settings), run('worker', settings)]);
  await registerWebhook(api);
  const { messageId, posts } = await sendOne(api, { traceparent: traceparent('01'), tracestate: 'vendor=abc' });
  await sendOne(api);
  await Promise.all([api.stop(), worker.stop()]);
  const stages = expectWholeTrace(target.spans(), CALLER.traceId);
  expect(stages.get('accept')?.[0]).toMatchObject({ parentSpanId: CALLER.spanId, traceState: 'vendor=abc' });
  for (const headers of posts) {
    expect(headers['traceparent']).toMatch(RegExp(`^00-${CALLER.traceId}-[0-9a-f]{16}-01$`));
    expect(headers['tracestate']).toBe('vendor=abc');
  }
  expect(JSON.stringify(target.spans())).toContain(messageId);
  // The share is 0: the message without a caller is in no trace.
  expect(new Set(target.spans().map(({ traceId }) => traceId))).toEqual(new Set([CALLER.traceId]));
});

test('a caller who does not record its trace, and a sampler that is off, leave a message without one', async () => {
  const target = await collector();
  const program = await run('serve', { ...TRACED, OTEL_EXPORTER_OTLP_ENDPOINT: target.url });
  await registerWebhook(program);
  const { posts } = await sendOne(program, { traceparent: traceparent('00') });
  await program.stop();
  const other = await run('serve', { OTEL_TRACES_SAMPLER: 'always_off', OTEL_EXPORTER_OTLP_ENDPOINT: target.url });
  posts.push(...(await sendOne(other, { traceparent: traceparent('01') })).posts);
  await other.stop();
  expect(target.spans()).toEqual([]);
  for (const headers of posts) expect(headers).not.toHaveProperty('traceparent');
});

test('signals that are switched off are not exported', async () => {
  const target = await collector();
  const program = await run('serve', {
    ...TRACED,
    OTEL_EXPORTER_OTLP_ENDPOINT: target.url,
    OTEL_TRACES_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
  });
  await registerWebhook(program);
  await sendOne(program);
  await program.stop();
  expect(new Set(target.requests.map(({ path }) => path))).toEqual(new Set(['/v1/metrics']));
});

test('a collector that is away, or never answers, holds up neither a message nor the end, and is named once', async () => {
  const silent = createServer();
  silent.listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await until('it listens', () => silent.listening);
  const address = silent.address();
  const port = address && typeof address === 'object' ? address.port : 0;
  for (const endpoint of ['http://127.0.0.1:1', `http://127.0.0.1:${port}`]) {
    const program = await run('serve', {
      ...TRACED,
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_TIMEOUT: '500',
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
    });
    await registerWebhook(program);
    await sendOne(program);
    const named = (): number => program.errors().split('the OpenTelemetry collector takes nothing').length - 1;
    await until('it is named', () => named() > 0);
    const requests = (): number => program.errors().split('"msg":"request"').length;
    const before = requests();
    for (let i = 0; i < 5; i += 1) await program.client.request('GET', '/health/live');
    await until('more lines', () => requests() > before);
    expect(await program.stop()).toBeLessThan(10_000);
    expect(named()).toBe(1);
  }
});

/**
 * Starts a program that lists the modules of OpenTelemetry that it loads; the file has them once it has ended. The package
 * api is left out: the Prometheus client brings and loads it, and it does nothing by itself.
 */
async function runListed(name: string, settings: Readonly<Record<string, string>>) {
  const list = join(folder, `${name}.txt`);
  const hooks = join(folder, `${name}.mjs`);
  await writeFile(list, '');
  await writeFile(
    hooks,
    `import { registerHooks } from 'node:module';
     import { appendFileSync } from 'node:fs';
     registerHooks({ load(url, context, next) {
       if (/@opentelemetry.(?!api\\/)/.test(url)) appendFileSync(${JSON.stringify(list)}, url + '\\n');
       return next(url, context);
     } });`,
  );
  const program = await run('serve', { NODE_OPTIONS: `--import=${pathToFileURL(hooks).href}`, ...settings });
  return { program, loaded: () => readFile(list, 'utf8') };
}

test('without an endpoint nothing of the SDK is loaded', async () => {
  const { program, loaded } = await runListed('off', {});
  await registerWebhook(program);
  await sendOne(program, { traceparent: traceparent('01') });
  await program.stop();
  expect(await loaded()).toBe('');
});

test('with an endpoint it is', async () => {
  const { program, loaded } = await runListed('on', { OTEL_EXPORTER_OTLP_ENDPOINT: (await collector()).url });
  await program.stop();
  expect(await loaded()).toContain('/@opentelemetry/sdk-trace/');
});
