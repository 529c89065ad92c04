import { Counter, type Registry } from 'prom-client';
import type { Metrics } from '../../metrics.ts';

/** The limit that was exceeded. */
export type Refusal =
  | 'connections'
  | 'connections_of_address'
  | 'bodies'
  | 'bodies_of_caller'
  | 'slow_body'
  | 'chunks'
  | 'pipelining'
  | 'failures_of_address';

const NAME = 'heliograph_http_refused_total';

/** Returns the function that counts a rejection in the metrics. Servers with one registry share the counter. */
export function createRefusalCounter({ registry }: Pick<Metrics, 'registry'>): (bound: Refusal) => void {
  const known = registry.getSingleMetric(NAME);
  const counter = known instanceof Counter ? known : createCounter(registry);
  return (bound) => counter.inc({ bound });
}

const createCounter = (registry: Registry): Counter<'bound'> =>
  new Counter({
    name: NAME,
    help: 'Connections closed and requests rejected because of a limit on the resources of one client or of all',
    labelNames: ['bound'] as const,
    registers: [registry],
  });
