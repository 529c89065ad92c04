import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { attachEmbedded } from '../src/db/embedded.ts';
import { createPool } from '../src/db/pool.ts';
import { silentLog } from '../src/lib/log.ts';
import { copyRate } from './copy-rate.ts';
import { runCommand } from './processes.ts';
import type { Report } from './report.ts';
import { BODY, destinationOf } from './traffic.ts';

const MESSAGES = Number(process.argv[3] ?? 200_000);
const DESTINATIONS_A_REQUEST = 5_000;
const REQUESTS_AT_ONCE = 3;
const POLL_MS = 100;
const DEADLINE_MS = 300_000;

/**
 * The whole path of bulk messages: HTTP accept, commit, claim, submit_sm over real sockets, response, receipt, state;
 * with durable settings, gateway and carrier each a process of their own, and every message with its receipt.
 */
export async function benchEngine(): Promise<Report> {
  const dataDir = await mkdtemp(join(tmpdir(), 'heliograph-bench-'));
  const carrier = await runCommand(['sandbox', '--port', '0', '--receipt-delay', '100']);
  const gateway = await runCommand(['serve'], { DATA_DIR: dataDir, PORT: '0', SANDBOX: 'off' });
  const server = await attachEmbedded({ dataDir, log: silentLog });
  const pool = createPool(server.connectionString, { max: 4, applicationName: 'bench', log: silentLog });
  try {
    await addCarrier(dataDir, Number(carrier.ready['port']));
    await untilUp(pool);
    const { acceptSeconds, seconds } = await send(gateway.ready, pool);
    const limit = await copyRate(pool);
    return {
      name: 'engine',
      ratio: MESSAGES / seconds / limit.messagesPerSecond,
      target: 0.25,
      figures: {
        messages: MESSAGES,
        messagesPerSecond: Math.round(MESSAGES / seconds),
        acceptedPerSecond: Math.round(MESSAGES / acceptSeconds),
        copyMessagesPerSecond: Math.round(limit.messagesPerSecond),
        copyMessageRowsPerSecond: Math.round(limit.messageRowsPerSecond),
        gatewayPeakMb: gateway.peakMb(),
        gatewayMemoryTargetMb: 400,
      },
    };
  } finally {
    await pool.end();
    await server.release();
    await gateway.stop();
    await carrier.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function addCarrier(dataDir: string, port: number): Promise<void> {
  const env = { DATA_DIR: dataDir };
  const smpp = ['--host', '127.0.0.1', '--port', String(port), '--system-id', 'bench', '--password', 'bench'];
  await (
    await runCommand(['connection', 'add', 'smpp', '--name', 'bench', ...smpp, '--binds', '2', '--window', '1000'], env)
  ).stop();
  await (await runCommand(['route', 'add', '--channel', 'SMS', '--connection', 'bench'], env)).stop();
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('the bench did not come to an end');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

const count = async (pool: Pool, query: string): Promise<number> =>
  (await pool.query<{ count: number }>(query)).rows[0]?.count ?? 0;

const untilUp = (pool: Pool): Promise<void> =>
  until(async () => (await count(pool, 'SELECT count(*) FROM connection_status WHERE binds_up = 2')) === 1);

type Ready = Record<string, unknown>;

async function send(ready: Ready, pool: Pool): Promise<{ acceptSeconds: number; seconds: number }> {
  const bodies = Array.from({ length: MESSAGES / DESTINATIONS_A_REQUEST }, (_, i) =>
    bodyOf(i * DESTINATIONS_A_REQUEST),
  );
  const start = performance.now();
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, () => post(ready, bodies)));
  const accepted = performance.now();
  await until(async () => (await count(pool, 'SELECT count(*) FROM message_state WHERE status = 3')) >= MESSAGES);
  return { acceptSeconds: (accepted - start) / 1000, seconds: (performance.now() - start) / 1000 };
}

async function post({ address, demo }: Ready, bodies: string[]): Promise<void> {
  const apiKey = (demo as { apiKey: string }).apiKey;
  for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
    const answer = await fetch(`${address}/services/sms/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
      body,
    });
    const { accepted } = (await answer.json()) as { accepted: number };
    if (accepted !== DESTINATIONS_A_REQUEST) throw new Error(`status ${answer.status}, ${accepted} accepted`);
  }
}

function bodyOf(first: number): string {
  const destinations = Array.from({ length: DESTINATIONS_A_REQUEST }, (_, i) => destinationOf(first + i));
  return JSON.stringify({ messages: [{ destinations, sender: 'Heliograph', body: BODY }] });
}
