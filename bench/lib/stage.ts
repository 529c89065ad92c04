import type { Pool } from 'pg';
import { createPool } from '../../src/core/db/pool.ts';
import { firstIdAt } from '../../src/core/ids.ts';
import { silentLog } from '../../src/core/log.ts';
import { type Backend, openBackend } from './backend.ts';
import { type Running, runCommand } from './processes.ts';
import { BODY, destinationOf } from './traffic.ts';

const DESTINATIONS_PER_REQUEST = 5_000;
const CONCURRENT_REQUESTS = 3;
const POLL_MS = 50;
/** The number of unanswered submits, and of unanswered receipts, that each bind may have. */
const WINDOW = '1000';
const DEADLINE_MS = 300_000;

/** A gateway and a carrier, each in a separate process, on a fresh durable database. */
export type Stage = Backend & {
  readonly carrier: Running;
  /** A pool for the bench on the gateway's database. */
  readonly pool: Pool;
  /** Runs an operator command against the gateway's database. */
  operate(...args: string[]): Promise<void>;
};

/**
 * Starts a gateway and a carrier on a fresh database, and waits until they are connected.
 * @param more environment variables of the gateway
 */
export async function openStage(more: Record<string, string> = {}): Promise<Stage> {
  await using opened = new AsyncDisposableStack();
  const carrier = await runCommand(['sandbox', '--port', '0', '--receipt-delay', '100', '--deliver-window', WINDOW]);
  opened.defer(carrier.stop);
  const backend = opened.use(await openBackend(more));
  const pool = createPool(backend.connectionString, { max: 4, applicationName: 'bench', log: silentLog });
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= pool.end().then(backend.stop));
  opened.defer(stop);
  const operate = async (...args: string[]): Promise<void> =>
    (await runCommand(args, { DATA_DIR: backend.dataDir })).stop();
  const link = ['--host', '127.0.0.1', '--port', String(carrier.ready['port'])];
  const smpp = [...link, '--system-id', 'bench', '--password', 'bench', '--binds', '2', '--window', WINDOW];
  await operate('connection', 'add', 'smpp', '--name', 'bench', ...smpp);
  await operate('route', 'add', '--channel', 'SMS', '--connection', 'bench');
  await operate('credit', 'add', 'Demo', '1000000');
  await until(async () => (await count(pool, 'SELECT count(*) FROM connection_status WHERE binds_up = 2')) === 1);
  const all = opened.move();
  return { ...backend, carrier, pool, operate, stop, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Waits until a condition holds. Throws after five minutes. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('the condition was not met in time');
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

const count = async (pool: Pool, query: string, values: unknown[] = []): Promise<number> =>
  (await pool.query<{ count: number }>(query, values)).rows[0]?.count ?? 0;

/**
 * Returns the number of delivered messages of the account from the hourly figures, which grow as messages end: counting
 * the messages themselves would take CPU time from what is measured.
 */
export async function deliveredCount({ pool, accountId }: Stage): Promise<number> {
  const { rows } = await pool.query<{ delivered: string }>(
    'SELECT coalesce(sum(delivered), 0) AS delivered FROM traffic_hour WHERE account_id = $1',
    [accountId],
  );
  return Number(rows[0]?.delivered);
}

/**
 * Sends messages in bulk and waits until each has its receipt. Counting all of them again and again would take a fifth
 * of a core from what is measured, so one message of each request is watched, and all are counted once.
 */
export async function sendBulk(
  stage: Stage,
  messages: number,
  text = BODY,
): Promise<{ acceptSeconds: number; seconds: number }> {
  const firstId = firstIdAt(new Date());
  const delivered = 'SELECT count(*) FROM message_state WHERE status = 3 AND account_id = 1';
  const start = performance.now();
  const lastIds = await postBulk(stage, messages, text);
  const accepted = performance.now();
  const sample = `${delivered} AND id = ANY($1::uuid[])`;
  await until(async () => (await count(stage.pool, sample, [lastIds])) === lastIds.length);
  // By the range of ids, so that older messages are not read.
  await until(async () => (await count(stage.pool, `${delivered} AND id >= $1`, [firstId])) === messages);
  return { acceptSeconds: (accepted - start) / 1000, seconds: (performance.now() - start) / 1000 };
}

/** Sends messages in bulk; returns the last id of each request when all are accepted. */
export async function postBulk(stage: Stage, messages: number, text = BODY): Promise<string[]> {
  if (messages % DESTINATIONS_PER_REQUEST !== 0)
    throw new Error(
      `${messages} messages: requests have ${DESTINATIONS_PER_REQUEST} each, so it must be a multiple of that`,
    );
  const firsts = Array.from({ length: messages / DESTINATIONS_PER_REQUEST }, (_, i) => i * DESTINATIONS_PER_REQUEST);
  const bodies = firsts.map((first) => bodyOf(first, text));
  const lastIds: string[] = [];
  await Promise.all(Array.from({ length: CONCURRENT_REQUESTS }, () => post(stage, bodies, lastIds)));
  return lastIds;
}

async function post({ address, apiKey }: Stage, bodies: string[], lastIds: string[]): Promise<void> {
  for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) {
    const answer = await fetch(`${address}/services/sms/send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
      body,
    });
    const { accepted, results } = (await answer.json()) as { accepted: number; results: { id: string }[] };
    if (accepted !== DESTINATIONS_PER_REQUEST) throw new Error(`status ${answer.status}, ${accepted} accepted`);
    lastIds.push(results.at(-1)?.id ?? '');
  }
}

function bodyOf(first: number, body: string): string {
  const destinations = Array.from({ length: DESTINATIONS_PER_REQUEST }, (_, i) => destinationOf(first + i));
  return JSON.stringify({ messages: [{ destinations, sender: 'Heliograph', body }] });
}
