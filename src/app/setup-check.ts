import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { createKey } from '../identity/api-keys/create.ts';
import { revokeKey } from '../identity/api-keys/revoke.ts';
import { listAccounts } from '../identity/accounts/sql.ts';
import { operatorAuthor } from '../identity/audit/record.ts';
import { listDeliveryStates } from '../messaging/expiry/sql.ts';
import { isFinal, nameOfStatus } from '../messaging/states.ts';
import { listConnectionStatus } from '../network/connections/sql.ts';
import { listWorkers } from '../operations/workers/sql.ts';
import type { Config } from '../platform/config.ts';
import { transaction } from '../platform/db/transaction.ts';
import { AppError } from '../platform/errors.ts';
import { SCOPES } from '../platform/lib/scope.ts';
import { type Program, startProgram } from './serve.ts';

/** What became of a test message; `ok`: a carrier took it. */
export type Tested = { readonly ok: boolean; readonly detail: string };

/** `config` names its database, the built-in one too, which the caller keeps running. */
type Installation = { readonly config: Config; readonly pool: Pool };

const CARRIER_UP_MS = 15_000;
const SENT_MS = 20_000;
const ASK_MS = 200;

/**
 * Runs `work` with a signal that is aborted by the first Ctrl-C or SIGTERM, so that it can say what it has made; a second one
 * ends the process.
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new Error('interrupted'));
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, abort);
  try {
    return await work(controller.signal);
  } finally {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.removeListener(name, abort);
  }
}

/**
 * Runs `work` while a program runs on this installation: the one that does already, or one in this process, which listens at
 * a free port of this machine alone. Carriers have up to 15 s to come up first. Rejects when the signal aborts the wait.
 */
export async function whileRunning<T>(
  { config, pool }: Installation,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const isRunning = (await listWorkers(pool)).some(({ alive }) => alive);
  const program = isRunning ? null : await startHere(config, true);
  try {
    await waitUntil(
      CARRIER_UP_MS,
      async () => (await listConnectionStatus(pool)).every(({ status, up }) => status === 'paused' || up),
      signal,
    );
    return await work();
  } finally {
    await program?.stop();
  }
}

/** At a port of this machine alone: the addresses and the certificate of the settings are the service's. */
function startHere(config: Config, worker: boolean): Promise<Program> {
  const smpp = { ...config.smpp, port: undefined, tlsPort: undefined };
  const alone = { host: '127.0.0.1', port: 0, workerPort: undefined, tls: undefined, trustProxy: [], smpp };
  return startProgram({ ...config, ...alone, logLevel: 'error' }, { api: true, worker, sandbox: false });
}

/** Sends a message of the first account through the API of a program in this process, and waits until a carrier took it. */
export async function sendTest(
  { config, pool }: Installation,
  { to, signal }: { readonly to: string; readonly signal: AbortSignal },
): Promise<Tested> {
  const [account] = await listAccounts(pool);
  if (!account) throw new AppError('conflict', { message: 'There is no account yet' });
  const author = operatorAuthor(account.id);
  const grantor = { ...author, operations: new Set(SCOPES) };
  const key = await transaction(pool, (tx) => createKey(tx, grantor, { name: 'test message of setup' }));
  try {
    return await send({ config, pool }, { accountId: account.id, apiKey: key.apiKey, to, signal });
  } finally {
    await transaction(pool, (tx) => revokeKey(tx, author, { id: key.id }));
  }
}

type TestMessage = {
  readonly accountId: number;
  readonly apiKey: string;
  readonly to: string;
  readonly signal: AbortSignal;
};

async function send({ config, pool }: Installation, { accountId, apiKey, to, signal }: TestMessage): Promise<Tested> {
  const program = await startHere(config, false);
  try {
    const answer = await fetch(`${program.address}/api/message-server/sms/send`, {
      method: 'POST',
      headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json' },
      body: JSON.stringify({ phoneNumber: to, message: 'Heliograph is set up.' }),
    });
    const text = await answer.text();
    const { messageId: id } = JSON.parse(text) as { messageId?: string };
    if (!answer.ok || id === undefined) return { ok: false, detail: `refused with status ${answer.status}: ${text}` };
    return await follow(pool, { accountId, id }, signal);
  } finally {
    await program.stop();
  }
}

async function follow(
  pool: Pool,
  message: { readonly accountId: number; readonly id: string },
  signal: AbortSignal,
): Promise<Tested> {
  const state = async () => (await listDeliveryStates(pool, [message]))[0];
  const isDecided = async (): Promise<boolean> => {
    const { submittedAt = null, status = null } = (await state()) ?? {};
    return submittedAt !== null || (status !== null && isFinal(status));
  };
  await waitUntil(SENT_MS, isDecided, signal);
  const { submittedAt = null, status = null, errorCode = null } = (await state()) ?? {};
  if (submittedAt !== null) return { ok: true, detail: `the carrier took message ${message.id}` };
  const end = status === null ? 'it still waits' : [nameOfStatus(status), errorCode].join(' ').trim();
  return { ok: false, detail: `message ${message.id} was not sent: ${end}` };
}

/** Resolves when it holds, or the time is over; rejects with the reason of the signal. */
async function waitUntil(withinMs: number, holds: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds()) && performance.now() < deadline) {
    await delay(ASK_MS, undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
  }
}
