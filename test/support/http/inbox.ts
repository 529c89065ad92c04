import { receiveIntoInbox } from '../../../src/engagement/inbox/receive-inbound.ts';
import { createAccount, type NewAccount } from '../../../src/operations/accounts/create.ts';
import { createAuthenticator } from '../../../src/identity/authentication/authenticate.ts';
import type { RichInbound } from '../../../src/carriers/events.ts';
import { insertConnection } from '../../../src/network/connections/sql.ts';
import { contactRoutes } from '../../../src/engagement/contacts/routes.ts';
import { createWaker } from '../../../src/network/dispatch/wake.ts';
import type { ApiDeps } from '../../../src/app/deps.ts';
import type { App } from '../../../src/platform/http/app.ts';
import { closeWithin } from '../../../src/platform/http/shutdown.ts';
import { createAnswerStore } from '../../../src/platform/idempotency/answers.ts';
import { createInboundInbox } from '../../../src/messaging/inbound/receive.ts';
import { insertNumber } from '../../../src/messaging/inbound/sql.ts';
import { inboxRoutes } from '../../../src/engagement/inbox/routes.ts';
import { createHub, type Hub } from '../../../src/engagement/inbox/stream/hub.ts';
import { createPresence, PRESENCE_CHANNEL } from '../../../src/engagement/inbox/presence/presence.ts';
import { INBOX_CHANNEL } from '../../../src/engagement/inbox/stream/sql.ts';
import { openWorkerSession } from '../../../src/platform/db/worker-session.ts';
import { silentLog } from '../../../src/platform/lib/log.ts';
import { createAccept } from '../../../src/messaging/sending/accept.ts';
import { apiDeps } from './api.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { freeOver } from '../drafts.ts';
import { serveRoutes } from './routes.ts';

/** An inbound message, with the properties that matter to its test. */
export type InboundText = {
  readonly from?: string;
  readonly to?: string;
  readonly connectionId?: number;
  readonly rich?: Partial<RichInbound>;
};

export type TestInbox = AsyncDisposable & {
  readonly database: TestDatabase;
  readonly app: App;
  readonly deps: ApiDeps;
  readonly hub: Hub;
  /** The account that owns all numbers of the connection. */
  readonly account: NewAccount;
  readonly connectionId: number;
  /** Stores an inbound message; resolves when it is committed. */
  write(text: string, wrote?: InboundText): Promise<void>;
  /** Starts another process's server of the same routes. */
  another(): Promise<{ readonly app: App; close(): Promise<void> }>;
};

/** Opens the inbox with its routes on a database of its own. Messages cost nothing and are sent over connection 1. */
export async function openTestInbox(): Promise<TestInbox> {
  const database = await createTestDatabase();
  const { pool } = database;
  const connectionId =
    (await insertConnection(pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;
  const account = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
  await insertNumber(pool, { connectionId, number: '*', accountId: account.accountId });
  const store = createInboundInbox({ pool, onInbound: receiveIntoInbox });
  const server = await openServer(database);
  let written = 0;
  return {
    database,
    account,
    connectionId,
    another: () => openServer(database),
    app: server.app,
    deps: server.deps,
    hub: server.deps.inboxHub,
    write: (text, { from = '393331234567', to = '4400', connectionId: over = connectionId, rich } = {}) =>
      store({
        connectionId: over,
        inbound: {
          source: from,
          destination: to,
          text,
          concat: null,
          raw: Buffer.from(`${written++} ${text}`),
          ...(rich && { rich: richOf(rich, written) }),
        },
      }),
    async [Symbol.asyncDispose]() {
      await server.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

const richOf = (more: Partial<RichInbound>, n: number): RichInbound => ({
  channel: 'WHATSAPP',
  id: `wamid.${n}`,
  messageType: 'TEXT',
  at: null,
  profileName: null,
  ownNumber: null,
  media: null,
  ...more,
});

async function openServer({ pool, connectionString }: TestDatabase) {
  const { authenticate } = createAuthenticator({ pool, log: silentLog });
  const waker = { ...createWaker(pool), wake: () => undefined };
  const hub = createHub({ pool, log: silentLog });
  const presence = createPresence(pool);
  const session = await openWorkerSession({
    connectionString,
    channels: [INBOX_CHANNEL, PRESENCE_CHANNEL],
    log: silentLog,
    onNotify: (channel, payload) =>
      channel === PRESENCE_CHANNEL ? presence.hear(payload) : hub.wake(payload === '' ? null : Number(payload)),
  });
  const defaults = apiDeps();
  const deps = apiDeps({
    pool,
    authenticate,
    inboxHub: hub,
    presence,
    accept: createAccept({ pool, tables: freeOver(() => [1]), waker, recentMessages: null }),
    answers: createAnswerStore({ pool, secretKey: defaults.secretKey }),
  });
  const app = serveRoutes([inboxRoutes, contactRoutes], deps);
  const close = async (): Promise<void> => {
    // Longer than any test: a stream that does not end by itself makes the test fail.
    await closeWithin(app, 120_000);
    await session.close();
  };
  return { app, deps, close };
}
