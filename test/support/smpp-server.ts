import { once } from 'node:events';
import net from 'node:net';
import type { Pool } from 'pg';
import { onTestFinished } from 'vitest';
import { ACCOUNTS_CHANNEL } from '../../src/accounts/accounts.ts';
import { operatorAuthor } from '../../src/accounts/audit.ts';
import { createLoginLimits, hashed } from '../../src/accounts/password.ts';
import {
  createCredential,
  generateSmppPassword,
  type IssuedCredential,
  type SettingsInput,
} from '../../src/accounts/smpp-credentials.ts';
import { SCOPES } from '../../src/core/actor.ts';
import { transaction } from '../../src/core/db/transaction.ts';
import { openWorkerSession } from '../../src/core/db/worker-session.ts';
import { createRateLimiter } from '../../src/core/limits.ts';
import { silentLog } from '../../src/core/log.ts';
import { systemClock } from '../../src/core/time.ts';
import { createWaker } from '../../src/dispatch/pump.ts';
import { type Accept, createAccept } from '../../src/messages/accept.ts';
import { createRecentMessages } from '../../src/messages/new-messages.ts';
import { createFrameReader } from '../../src/smpp/link.ts';
import { decodePdu, type Pdu } from '../../src/smpp/pdu.ts';
import { type SmppServer, type SmppServerOptions, startSmppServer } from '../../src/smpp-server/server.ts';
import { SMPP_CHANNEL } from '../../src/webhooks/smpp-outbox.ts';
import { bindLibrary, type LibraryClient, type LibraryPdu } from './carriers/smpp-library-client.ts';
import type { TestDatabase } from './database.ts';
import { freeOver } from './drafts.ts';

/** An accept that stores messages to Portugal and Italy, which cost nothing, and sends none of them. */
export const storingAccept = (pool: Pool): Accept =>
  createAccept({
    pool,
    tables: freeOver((_, destination) => (/^\+(351|39)/.test(destination) ? [1] : [])),
    waker: createWaker(pool),
    recentMessages: createRecentMessages(),
  });

/** The same, but nothing is stored before `release`. */
export function gatedAccept(pool: Pool) {
  const storing = storingAccept(pool);
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const accept: Accept = {
    ...storing,
    async one(...given) {
      begun += 1;
      await gate.promise;
      return storing.one(...given);
    },
  };
  return { accept, begun: () => begun, release: gate.resolve };
}

export type TestServer = SmppServer & { readonly port: number; stop(): Promise<void> };

/** Starts an SMPP server like a process does, with a separate session for notifications. It ends with the test. */
export async function startServer(
  { pool, connectionString }: TestDatabase,
  options: Partial<SmppServerOptions> = {},
): Promise<TestServer> {
  let server: SmppServer | null = null;
  const session = await openWorkerSession({ connectionString, log: silentLog });
  await session.listen({
    [SMPP_CHANNEL]: () => server?.onDeliveries(),
    [ACCOUNTS_CHANNEL]: (payload) => server?.onAccountChange(payload),
  });
  const started = await startSmppServer({
    listen: { host: '127.0.0.1', port: 0, tlsPort: undefined, tls: undefined },
    pool,
    accept: storingAccept(pool),
    clock: systemClock,
    limits: createLoginLimits(createRateLimiter()),
    limiter: createRateLimiter(),
    unboundPerMinute: 0,
    passedTags: new Set(),
    owner: session.owner,
    log: silentLog,
    ...options,
  });
  server = started;
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopped ??= started.close(500).then(session.close));
  onTestFinished(stop);
  return Object.assign(started, { port: started.port ?? 0, stop });
}

/** Creates a credential of an account. */
export async function newCredential(
  pool: Pool,
  accountId: number,
  settings: SettingsInput = {},
): Promise<IssuedCredential> {
  const secret = await hashed(generateSmppPassword(), { by: 'operator' });
  const author = { ...operatorAuthor(accountId), role: 'admin' as const, operations: new Set(SCOPES) };
  return transaction(pool, (tx) => createCredential(tx, author, { ...settings, ...secret }));
}

export type BoundClient = LibraryClient & { readonly bound: LibraryPdu };

/** Binds a client of the npm library smpp. */
export async function bindAs(
  { port }: { readonly port: number },
  { systemId, password }: Pick<IssuedCredential, 'systemId' | 'password'>,
  mode: 'transmitter' | 'receiver' | 'transceiver' = 'transceiver',
  fields: Readonly<Record<string, unknown>> = {},
): Promise<BoundClient> {
  const client = await bindLibrary(port, mode, { system_id: systemId, password, ...fields });
  onTestFinished(client.close);
  return client;
}

/** A client that sends any octets. */
export type RawClient = {
  send(octets: Uint8Array): void;
  /** The PDUs that have arrived. */
  readonly received: readonly Pdu[];
  readonly closed: Promise<void>;
  isClosed(): boolean;
  readonly socket: net.Socket;
};

/** Connects a client that sends any octets, from this address. It ends with the test. */
export async function connectRaw(port: number, localAddress = '127.0.0.1'): Promise<RawClient> {
  const socket = net.connect({ host: '127.0.0.1', port, localAddress });
  const reader = createFrameReader();
  const received: Pdu[] = [];
  const closed = Promise.withResolvers<void>();
  let isClosed = false;
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    for (const frame of reader.push(chunk)) {
      const pdu = decodePdu(frame);
      if ('command' in pdu) received.push(pdu);
    }
  });
  socket.once('close', () => {
    isClosed = true;
    closed.resolve();
  });
  onTestFinished(() => void socket.destroy());
  // A connection may be reset before it is seen to be open.
  await Promise.race([once(socket, 'connect').catch(() => closed.promise), closed.promise]);
  return {
    send: (octets) => void socket.write(octets),
    received,
    closed: closed.promise,
    isClosed: () => isClosed,
    socket,
  };
}
