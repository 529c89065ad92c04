import { createAuthenticator } from '../../../src/accounts/authenticate.ts';
import type { ApiDeps } from '../../../src/api.ts';
import type { RichInbound } from '../../../src/channels/carrier.ts';
import { contactRoutes } from '../../../src/contacts/routes.ts';
import { openWorkerSession } from '../../../src/core/db/worker-session.ts';
import type { App } from '../../../src/core/http/app.ts';
import { closeWithin } from '../../../src/core/http/server.ts';
import { createAnswerStore } from '../../../src/core/idempotency.ts';
import { silentLog } from '../../../src/core/log.ts';
import { createMetrics } from '../../../src/core/metrics.ts';
import { createWaker } from '../../../src/dispatch/pump.ts';
import { INBOX_CHANNEL } from '../../../src/inbox/conversations.ts';
import { createPresence, PRESENCE_CHANNEL } from '../../../src/inbox/presence.ts';
import { receiveIntoInbox } from '../../../src/inbox/receive.ts';
import { inboxRoutes } from '../../../src/inbox/routes.ts';
import { createHub, type Hub } from '../../../src/inbox/stream.ts';
import { createAccept } from '../../../src/messages/accept.ts';
import { consentRoutes } from '../../../src/messages/consent-routes.ts';
import { consentSettingsRoutes } from '../../../src/messages/consent-settings.ts';
import { createPersonHash } from '../../../src/messages/erased.ts';
import { createInboundInbox } from '../../../src/messages/inbound.ts';
import { withReturns } from '../../../src/messages/stops.ts';
import { insertNumber } from '../../../src/messages/inbound-store.ts';
import { suspectedRoutes } from '../../../src/messages/suspected.ts';
import { createAccount, type NewAccount } from '../../../src/operate/account-commands.ts';
import { insertConnection } from '../../../src/routing/connection-store.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { freeOver } from '../drafts.ts';
import { apiDeps } from './api.ts';
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

/** Opens the inbox with its routes on a separate database. Messages cost nothing and are sent over connection 1. */
export async function openTestInbox(): Promise<TestInbox> {
  const database = await createTestDatabase();
  const { pool } = database;
  const connectionId =
    (await insertConnection(pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;
  const account = await createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0 });
  await insertNumber(pool, { connectionId, number: '*', accountId: account.accountId });
  const server = await openServer(database);
  const onInbound = withReturns(createPersonHash(server.deps.secretKey), receiveIntoInbox);
  const store = createInboundInbox({ log: silentLog, metrics: createMetrics(), pool, onInbound });
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
  const session = await openWorkerSession({ connectionString, log: silentLog });
  await session.listen({
    [INBOX_CHANNEL]: (payload) => hub.wake(payload === '' ? null : Number(payload)),
    [PRESENCE_CHANNEL]: presence.hear,
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
  const app = serveRoutes([inboxRoutes, contactRoutes, consentRoutes, consentSettingsRoutes, suspectedRoutes], deps);
  const close = async (): Promise<void> => {
    // Longer than any test: a stream that does not end by itself makes the test fail.
    await closeWithin(app, 120_000);
    await session.close();
  };
  return { app, deps, close };
}
