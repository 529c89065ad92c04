import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';

export type Metrics = {
  /** Features register their own counters and gauges here; /metrics shows all of them. */
  readonly registry: Registry;
  /** Seconds from the first byte of a request to the end of its response. `route` is the pattern, never the URL. */
  readonly httpSeconds: Histogram<'method' | 'route' | 'status'>;
  /** Returns the content of /metrics, in the Prometheus text format. */
  scrape(): Promise<string>;
};

/** Buckets in seconds: from 1 ms, a plain read, to 30 s, a large upload. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Creates a separate registry for each program and each test, so that they never mix. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const httpSeconds = new Histogram({
    name: 'heliograph_http_request_duration_seconds',
    help: 'Duration of HTTP requests by route pattern and status',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: SECONDS,
    registers: [registry],
  });
  return { registry, httpSeconds, scrape: () => registry.metrics() };
}

/**
 * Gauges with the names of counters, which `promtool check metrics` rejects; the same figures by type have right names.
 */
const MISNAMED = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

/**
 * Adds the usual metrics of a Node process (CPU, memory, event loop). Call it once: it installs permanent observers.
 */
export function collectProcessMetrics({ registry }: Metrics): void {
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}
