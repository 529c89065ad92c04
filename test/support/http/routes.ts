import type { Pool } from 'pg';
import { createKey } from '../../../src/accounts/api-keys.ts';
import { operatorAuthor } from '../../../src/accounts/audit.ts';
import { createAuthenticator } from '../../../src/accounts/authenticate.ts';
import type { ApiDeps } from '../../../src/api.ts';
import { SCOPES, type Scope } from '../../../src/core/actor.ts';
import { transaction } from '../../../src/core/db/transaction.ts';
import type { App } from '../../../src/core/http/app.ts';
import { authentication } from '../../../src/core/http/auth.ts';
import { acceptIdempotencyKeys } from '../../../src/core/http/idempotency.ts';
import { createServer } from '../../../src/core/http/server.ts';
import { silentLog } from '../../../src/core/log.ts';
import { createAccount, type NewAccount } from '../../../src/operate/account-commands.ts';
import { createTestDatabase } from '../database.ts';
import { apiDeps } from './api.ts';

export const PG = '/api/partner-gateway/v1';

type Routes = (app: App, deps: ApiDeps) => void;
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type AccountSettings = Partial<Parameters<typeof createAccount>[1]>;

type Options = {
  /** The base path of all requests; `PG` if absent. */
  readonly base?: string;
  /** Dependencies of the routes besides the database and its accounts. */
  readonly deps?: Partial<ApiDeps>;
  readonly account?: AccountSettings;
  readonly otherAccount?: AccountSettings;
};

/**
 * Serves these routes alone, for all credentials, on a separate database with two accounts:
 *
 *     const { account, otherAccount, get, ...routes } = await openRoutes([auditRoutes]);
 *     afterAll(() => routes[Symbol.asyncDispose]());
 */
export async function openRoutes(routes: readonly Routes[], options: Options = {}) {
  const { base = PG, deps = {} } = options;
  const database = await createTestDatabase();
  const { pool } = database;
  const { authenticate, checkPassword, close } = createAuthenticator({ pool, log: silentLog });
  const app = serveRoutes(routes, apiDeps({ pool, authenticate, checkPassword, ...deps }));

  /** Creates an account without limits on its sends, unless the settings set some. */
  const newAccount = (settings: AccountSettings = {}) =>
    createAccount(pool, { name: 'Acme', plan: 'unlimited', ratePerMinute: 0, ...settings });
  const account = await newAccount(options.account);
  const otherAccount = await newAccount({ name: 'Neighbour', ...options.otherAccount });

  const dispose = async (): Promise<void> => {
    await Promise.all([app.close(), close()]);
    await database[Symbol.asyncDispose]();
  };
  const requests = requestsTo(app, base, account.apiKey);
  return { database, pool, app, account, otherAccount, newAccount, ...requests, [Symbol.asyncDispose]: dispose };
}

/** Creates an app with these routes alone, behind the program's common hooks. */
export function serveRoutes(routes: readonly Routes[], deps: ApiDeps): App {
  const app = createServer(deps);
  app.register(async (closed: App) => {
    closed.register(authentication, { authenticate: deps.authenticate });
    acceptIdempotencyKeys(closed, deps);
    for (const register of routes) register(closed, deps);
  });
  return app;
}

/** Creates an API key of this account with only these scopes. */
export async function newKey(
  pool: Pool,
  { accountId }: Pick<NewAccount, 'accountId'>,
  operations: readonly Scope[],
): Promise<string> {
  const operator = { ...operatorAuthor(accountId), operations: new Set(SCOPES) };
  return (await transaction(pool, (tx) => createKey(tx, operator, { operations }))).apiKey;
}

function requestsTo(app: App, base: string, apiKey: string) {
  /** Sends a request; `as` is an API key or a Basic header. The body of an empty response is null. */
  async function call(method: Method, path: string, body?: object, as = apiKey) {
    const headers = as.startsWith('Basic ') ? { authorization: as } : { 'x-api-key': as };
    const answer = await app.inject({ method, url: `${base}${path}`, headers, ...(body && { payload: body }) });
    return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
  }
  return { call, get: (path: string, as?: string) => call('GET', path, undefined, as) };
}
