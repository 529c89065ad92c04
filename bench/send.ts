import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { type Running, runCommand } from './processes.ts';
import type { Report } from './report.ts';
import { startEmptyRoute } from './empty-route.ts';

const CONNECTIONS = 64;
const SECONDS = 10;
const WARM_UP_SECONDS = 3;

/** Single sends over HTTP, each answer committed, against an empty validated POST route under the same load. */
export async function benchSend(): Promise<Report> {
  const dataDir = await mkdtemp(join(tmpdir(), 'heliograph-bench-'));
  const gateway = await runCommand(['serve'], { DATA_DIR: dataDir, PORT: '0' });
  const empty = await startEmptyRoute();
  try {
    const before = await load(empty.url, '');
    const own = await load(`${gateway.ready['address']}/api/message-server/sms/send`, keyOf(gateway));
    const after = await load(empty.url, '');
    const limit = (before.requests.average + after.requests.average) / 2;
    return {
      name: 'send',
      ratio: own.requests.average / limit,
      target: 0.5,
      figures: {
        requestsPerSecond: Math.round(own.requests.average),
        emptyRoutePerSecond: Math.round(limit),
        p50Ms: own.latency.p50,
        p99Ms: own.latency.p99,
        emptyRouteP99Ms: after.latency.p99,
        failed: own.non2xx + own.errors,
        gatewayPeakMb: gateway.peakMb(),
        gatewayMemoryTargetMb: 400,
      },
    };
  } finally {
    await empty.stop();
    await gateway.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

const keyOf = ({ ready }: Running): string => (ready['demo'] as { apiKey: string }).apiKey;

async function load(url: string, apiKey: string): Promise<autocannon.Result> {
  await fire(url, apiKey, WARM_UP_SECONDS);
  return fire(url, apiKey, SECONDS);
}

const fire = (url: string, apiKey: string, duration: number): Promise<autocannon.Result> =>
  autocannon({
    url,
    connections: CONNECTIONS,
    duration,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
    body: JSON.stringify({ phoneNumber: '+393331234567', message: 'Your code is 123456' }),
  });
