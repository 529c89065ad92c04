import type { Pool } from 'pg';
import { createAuthenticator } from '../../../src/accounts/authenticate.ts';
import { campaignRoutes } from '../../../src/campaigns/routes.ts';
import { listRoutes } from '../../../src/contacts/list-routes.ts';
import { contactRoutes } from '../../../src/contacts/routes.ts';
import type { Scope } from '../../../src/core/actor.ts';
import { createAnswerStore } from '../../../src/core/idempotency.ts';
import { silentLog } from '../../../src/core/log.ts';
import { createSecretKey } from '../../../src/core/secrets.ts';
import type { Clock } from '../../../src/core/time.ts';
import { createWaker } from '../../../src/dispatch/pump.ts';
import { createAccept } from '../../../src/messages/accept.ts';
import { createPriceList } from '../../../src/money/pricing.ts';
import { createAccount, type NewAccount } from '../../../src/operate/account-commands.ts';
import { insertConnection } from '../../../src/routing/connection-store.ts';
import { NO_NETWORKS } from '../../../src/routing/number-lookups.ts';
import { createRouter } from '../../../src/routing/router.ts';
import { insertRoute } from '../../../src/routing/routes.ts';
import { NO_TLV_TAGS } from '../../../src/routing/account-tlvs.ts';
import { NO_DLT_TEMPLATES } from '../../../src/routing/dlt-templates.ts';
import { NO_SENDER_RULES } from '../../../src/routing/sender-rules.ts';
import { createTestDatabase } from '../database.ts';
import { apiDeps } from '../http/api.ts';
import { type Method, newKey, PG, serveRoutes } from '../http/routes.ts';

/**
 * Serves the routes of campaigns, lists and contacts on a separate database, with a route for every number and no
 * worker: confirmed campaigns wait.
 */
export async function openCampaignApi({ clock }: { clock?: Clock } = {}) {
  const database = await createTestDatabase();
  const { pool } = database;
  const connection = await insertConnection(pool, { name: 'one', kind: 'smpp', sandbox: true, settings: {} });
  await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId: connection?.id ?? 0, priority: 1 });
  const { app, reload } = buildApp(pool, clock);
  await reload();

  /** Sends a request; `path` is relative to `PG`. */
  async function call(key: string, method: Method, path: string, body?: object, headers: object = {}) {
    const answer = await app.inject({
      method,
      url: `${PG}${path}`,
      headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { payload: JSON.stringify(body) }),
    });
    return {
      status: answer.statusCode,
      body: answer.body === '' ? null : answer.json(),
      headers: answer.headers,
    };
  }
  const newAccount = (creditMicros = 1_000_000_000): Promise<NewAccount> =>
    createAccount(pool, { name: 'Acme', plan: 'production', creditMicros, ratePerMinute: 0 });

  const dispose = async (): Promise<void> => {
    await app.close();
    await database[Symbol.asyncDispose]();
  };
  return {
    pool,
    call,
    newAccount,
    reload,
    connectionId: connection?.id ?? 0,
    newKey: (account: NewAccount, operations: readonly Scope[]) => newKey(pool, account, operations),
    [Symbol.asyncDispose]: dispose,
  };
}

function buildApp(pool: Pool, clock: Clock | undefined) {
  const { authenticate } = createAuthenticator({ pool, log: silentLog });
  const secretKey = createSecretKey(Buffer.alloc(32, 3));
  const [router, prices] = [createRouter(pool), createPriceList(pool)];
  const tables = {
    findRoute: router.find,
    findPrice: prices.find,
    maySend: router.maySend,
    senderRules: NO_SENDER_RULES,
    tlvTags: NO_TLV_TAGS,
    dltTemplates: NO_DLT_TEMPLATES,
    networks: NO_NETWORKS,
  };
  const accept = createAccept({ pool, tables, waker: createWaker(pool), recentMessages: null });
  const answers = createAnswerStore({ pool, secretKey });
  const deps = apiDeps({ pool, authenticate, accept, tables, answers, ...(clock && { clock }) });
  const app = serveRoutes([campaignRoutes, listRoutes, contactRoutes], deps);
  return { app, reload: () => Promise.all([router.reload(), prices.reload()]) };
}

export type CampaignApi = Awaited<ReturnType<typeof openCampaignApi>>;
