import autocannon from 'autocannon';
import { type Costs, costFigures, countCosts, memoryFigures } from './lib/costs.ts';
import { type Route, startEmptyRoute, startSendRoute } from './lib/empty-route.ts';
import type { Report } from './lib/report.ts';
import { deliveredCount, openStage, type Stage, until } from './lib/stage.ts';

const CONNECTIONS = 64;
const SECONDS = 10;
const WARM_UP_SECONDS = 3;

type Loaded = autocannon.Result & { readonly costs: Costs };

/**
 * The single-send endpoint, with every response committed, compared with an empty validated POST route under the same
 * load. The connection is paused while the endpoint is measured, so that messages wait in the queue. Also measures the
 * rate while the carrier takes and confirms all messages at the same time, and the costs of both, and what HTTP alone costs
 * with credentials and acceptance that do nothing. Each load runs warm.
 */
export async function benchSend(): Promise<Report> {
  await using stage = await openStage();
  const empty = await startEmptyRoute();
  const route = await startSendRoute();
  const url = `${stage.address}/api/message-server/sms/send`;
  try {
    // A limit that is counted and never reached.
    await stage.operate('account', 'change', 'Demo', '--rate-per-minute', '100000000');
    const before = await loadRoute(empty);
    const stubbed = await loadRoute(route);
    const endToEnd = await loadGateway(stage, url, () => untilDelivered(stage));
    await stage.operate('connection', 'pause', 'bench');
    await until(async () => (await stage.pool.query('SELECT 1 FROM connection_status')).rowCount === 0);
    const own = await loadGateway(stage, url, () => Promise.resolve());
    const after = await loadRoute(empty);
    const limit = (before.perSecond + after.perSecond) / 2;
    const emptyRouteCpuMicros = (before.cpuMicros + after.cpuMicros) / 2;
    return {
      name: 'send',
      ratio: own.requests.average / limit,
      target: 0.35,
      figures: {
        requestsPerSecond: Math.round(own.requests.average),
        emptyRoutePerSecond: Math.round(limit),
        p50Ms: own.latency.p50,
        p99Ms: own.latency.p99,
        emptyRouteP99Ms: after.p99Ms,
        emptyRouteCpuMicros: Math.round(emptyRouteCpuMicros),
        sendRouteCpuMicros: Math.round(stubbed.cpuMicros),
        sendRoutePerEmptyRoute: Math.round((stubbed.cpuMicros / emptyRouteCpuMicros) * 100) / 100,
        sendRoutePerEmptyRouteTarget: 1.5,
        withCarrierPerSecond: Math.round(endToEnd.requests.average),
        withCarrierP99Ms: endToEnd.latency.p99,
        failed: own.non2xx + own.errors + endToEnd.non2xx + endToEnd.errors,
        ...own.costs,
        ...memoryFigures(stage),
        ...costFigures('withCarrier', endToEnd.costs),
      },
    };
  } finally {
    await empty.stop();
    await route.stop();
  }
}

/** Loads a route without a database. */
async function loadRoute({ url, cpuSeconds }: Route) {
  await run(url, 'pg_live_', WARM_UP_SECONDS);
  const before = cpuSeconds();
  const { requests, latency, '2xx': succeeded } = await run(url, 'pg_live_', SECONDS);
  const cpuMicros = ((cpuSeconds() - before) / succeeded) * 1e6;
  return { perSecond: requests.average, p99Ms: latency.p99, cpuMicros };
}

/** Loads the gateway; its costs include what `end` waits for. */
async function loadGateway(stage: Stage, url: string, end: () => Promise<void>): Promise<Loaded> {
  await run(url, stage.apiKey, WARM_UP_SECONDS);
  await end();
  const costsOf = await countCosts(stage);
  const result = await run(url, stage.apiKey, SECONDS);
  await end();
  return { ...result, costs: await costsOf(result['2xx']) };
}

/** Waits until every message that was committed has its receipt. */
async function untilDelivered(stage: Stage): Promise<void> {
  const { rows } = await stage.pool.query<{ accepted: string }>('SELECT count(*) AS accepted FROM message');
  await until(async () => (await deliveredCount(stage)) >= Number(rows[0]?.accepted));
}

const run = (url: string, apiKey: string, duration: number): Promise<autocannon.Result> =>
  autocannon({
    url,
    connections: CONNECTIONS,
    duration,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: JSON.stringify({ phoneNumber: '+393331234567', message: 'Your code is 123456' }),
  });
