import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Attribute = {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
};

/** A span as OTLP writes it in JSON; times in nanoseconds. */
export type CollectedSpan = {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: number };
};

export type CollectedLog = {
  readonly severityText: string;
  readonly body: { readonly stringValue: string };
  readonly traceId?: string;
  readonly attributes: readonly Attribute[];
};

type Scope = {
  readonly spans?: readonly CollectedSpan[];
  readonly metrics?: readonly { readonly name: string }[];
  readonly logRecords?: readonly CollectedLog[];
};
type Resource = {
  readonly resource: { readonly attributes: readonly Attribute[] };
  readonly scopeSpans?: readonly Scope[];
  readonly scopeMetrics?: readonly Scope[];
  readonly scopeLogs?: readonly Scope[];
};

/** An OpenTelemetry collector that keeps what it gets. */
export type Collector = AsyncDisposable & {
  readonly url: string;
  /** The bodies of all requests by path, as they came. */
  readonly requests: readonly { readonly path: string; readonly headers: object; readonly body: string }[];
  spans(): CollectedSpan[];
  metricNames(): Set<string>;
  logs(): CollectedLog[];
  /** The attributes of everything that was sent. */
  resources(): (readonly Attribute[])[];
};

/** Starts a collector on a free port of this machine. */
export async function startCollector(): Promise<Collector> {
  const requests: { path: string; headers: object; body: string }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ path: request.url ?? '', headers: request.headers, body });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const all = (): Resource[] =>
    requests.flatMap(({ body }) => Object.values(JSON.parse(body) as Record<string, Resource[]>).flat());
  const scopes = (): Scope[] =>
    all().flatMap(({ scopeSpans = [], scopeMetrics = [], scopeLogs = [] }) => [
      ...scopeSpans,
      ...scopeMetrics,
      ...scopeLogs,
    ]);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    spans: () => scopes().flatMap(({ spans = [] }) => spans),
    metricNames: () => new Set(scopes().flatMap(({ metrics = [] }) => metrics.map(({ name }) => name))),
    logs: () => scopes().flatMap(({ logRecords = [] }) => logRecords),
    resources: () => all().map(({ resource }) => resource.attributes),
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
