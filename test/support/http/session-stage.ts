import { apiKeyRoutes } from '../../../src/accounts/api-key-routes.ts';
import { operatorAuthor } from '../../../src/accounts/audit.ts';
import { auditRoutes } from '../../../src/accounts/audit-routes.ts';
import { type Authenticator, createAuthenticator } from '../../../src/accounts/authenticate.ts';
import { hashed } from '../../../src/accounts/password.ts';
import { secondFactorRoutes } from '../../../src/accounts/second-factor-routes.ts';
import { securityRoutes } from '../../../src/accounts/security.ts';
import { sessionGuard, sessionRoutes } from '../../../src/accounts/session-routes.ts';
import { signInRoutes, stepUpRoutes } from '../../../src/accounts/sign-in.ts';
import { userRoutes } from '../../../src/accounts/user-routes.ts';
import { addUser, changeOperator } from '../../../src/accounts/users.ts';
import { type Role, SCOPES } from '../../../src/core/actor.ts';
import { loadConfig } from '../../../src/core/config.ts';
import { many, sql } from '../../../src/core/db/query.ts';
import type { App } from '../../../src/core/http/app.ts';
import { authentication, requireOperator } from '../../../src/core/http/auth.ts';
import { acceptIdempotencyKeys } from '../../../src/core/http/idempotency.ts';
import { describeApi } from '../../../src/core/http/openapi.ts';
import { createServer } from '../../../src/core/http/server.ts';
import { createAnswerStore } from '../../../src/core/idempotency.ts';
import { silentLog } from '../../../src/core/log.ts';
import { DEFAULT_NUMBER_RULES } from '../../../src/core/phone.ts';
import { createSecretKey } from '../../../src/core/secrets.ts';
import { removeAgent } from '../../../src/inbox/rules.ts';
import { createAccount, type NewAccount } from '../../../src/operate/account-commands.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { apiDeps } from './api.ts';
import { type Method, PG } from './routes.ts';

export const SESSION = `${PG}/session`;
export const SESSIONS = `${PG}/sessions`;
/** The headers that the console, and the browser for it, add to requests. */
export const OWN_PAGES = { 'x-heliograph-console': '1', 'sec-fetch-site': 'same-origin' };

/** The host by which browsers know the gateway, behind a trusted proxy. */
export const HOST = 'console.example.com';
/** The address of browsers, unless a test chooses another. */
const HOME = '198.51.100.7';
const PROXY = '10.0.0.5';
const PASSWORD = 'correct horse battery';

export type Headers = Readonly<Record<string, string>>;
export type Sending = { readonly body?: object; readonly headers?: Headers; readonly from?: string };
export type Person = { readonly id: number; readonly username: string; readonly password: string };
export type Browser = Awaited<ReturnType<SessionStage['signIn']>>;
export type SessionStage = AsyncDisposable & ReturnType<typeof stageOn>;

/** Serves the routes for signing in, and some that people use afterwards, as browsers see them. */
export async function openSessionStage(): Promise<SessionStage> {
  const database = await createTestDatabase();
  const authenticator = createAuthenticator({ pool: database.pool, log: silentLog });
  const app = appWith(database, authenticator, { TRUST_PROXY: PROXY, HOST: '0.0.0.0' });
  const dispose = async (): Promise<void> => {
    await Promise.all([app.close(), authenticator.close()]);
    await database[Symbol.asyncDispose]();
  };
  return { ...stageOn(database, authenticator, app), [Symbol.asyncDispose]: dispose };
}

/** Creates such an app with this environment. `/operator` is for operators. */
export function appWith({ pool }: TestDatabase, authenticator: Authenticator, environment: Headers): App {
  const { authenticate, checkPassword, signInLimits } = authenticator;
  const secretKey = createSecretKey(Buffer.alloc(32, 2));
  const answers = createAnswerStore({ pool, secretKey });
  const checks = { authenticate, checkPassword, signInLimits };
  const deps = apiDeps({ pool, ...checks, secretKey, answers, config: loadConfig(environment) });
  const app = createServer(deps);
  describeApi(app);
  app.register(async (open: App) => signInRoutes(open, deps));
  app.register(async (closed: App) => {
    closed.register(authentication, { authenticate });
    closed.register(sessionGuard);
    acceptIdempotencyKeys(closed, deps);
    const own = [sessionRoutes, stepUpRoutes, secondFactorRoutes];
    for (const register of [...own, apiKeyRoutes, auditRoutes, securityRoutes]) register(closed, deps);
    userRoutes(closed, { ...deps, onRemove: removeAgent });
    closed.get('/operator', { onRequest: requireOperator() }, () => 'in');
  });
  return app;
}

/** Returns the id of the browser's session. */
export const sessionIdOf = async (browser: Browser): Promise<number> =>
  (await browser.ask('GET', SESSIONS)).body.data.find(({ current }: { current: boolean }) => current).id;

function stageOn(database: TestDatabase, authenticator: Authenticator, app: App) {
  const { pool } = database;
  let people = 0;

  /** Sends a request over HTTPS, with only these headers. */
  async function call(method: Method, url: string, { body, headers = {}, from = HOME }: Sending = {}) {
    const proxied = { 'x-forwarded-for': from, 'x-forwarded-proto': 'https', host: HOST };
    const answer = await app.inject({
      method,
      url,
      remoteAddress: PROXY,
      headers: { ...proxied, ...headers },
      ...(body && { payload: body }),
    });
    const isJson = String(answer.headers['content-type']).includes('json');
    return { status: answer.statusCode, headers: answer.headers, body: isJson ? answer.json() : answer.body };
  }

  /** Signs a person in at our pages and returns their browser. Throws the response if it fails. */
  async function signIn({ username, password }: Pick<Person, 'username' | 'password'>, more: Sending = {}) {
    const headers = { ...OWN_PAGES, ...more.headers };
    const answer = await call('POST', SESSION, { ...more, body: { username, password }, headers });
    if (answer.status !== 200) throw new Error(`returned ${answer.status}: ${JSON.stringify(answer.body)}`);
    const setCookie = String(answer.headers['set-cookie']);
    const cookie = setCookie.split(';')[0] ?? '';
    const ask = (method: Method, url: string, body?: object) =>
      call(method, url, { ...(body && { body }), headers: { ...OWN_PAGES, cookie } });
    return { ask, cookie, setCookie, answer, token: cookie.split('=')[1] ?? '' };
  }

  /** Creates a person in this account. */
  async function person(accountId: number, role: Role): Promise<Person> {
    const username = `person-${++people}`;
    const by = { ...operatorAuthor(accountId), role: 'admin', operations: new Set(SCOPES) } as const;
    const actor = { ...by, plan: 'unlimited', channels: new Set<never>(), numberRules: DEFAULT_NUMBER_RULES } as const;
    const { id } = await addUser(pool, actor, { username, role, ...(await hashed(PASSWORD, { by: 'test' })) });
    return { id, username, password: PASSWORD };
  }

  const setOperator = (accountId: number, id: number, isOperator: boolean) =>
    changeOperator(pool, operatorAuthor(accountId), { id, isOperator });

  return {
    database,
    pool,
    authenticator,
    call,
    signIn,
    person,
    setOperator,
    newAccount: (): Promise<NewAccount> => createAccount(pool, { name: 'Acme', plan: 'unlimited' }),
    /** Creates an admin of this account who is also an operator of the gateway. */
    async operator(accountId: number): Promise<Person> {
      const made = await person(accountId, 'admin');
      await setOperator(accountId, made.id, true);
      return made;
    },
    /** Lists the entries of an account's audit log that are about sessions. */
    auditOf: (accountId: number) =>
      many<{ kind: string; userId: number | null; username: string; action: string; subject: string; detail: object }>(
        pool,
        sql`SELECT actor_kind AS kind, user_id AS "userId", username, action, subject, detail FROM audit_entry
          WHERE account_id = ${accountId} AND action LIKE 'session.%' ORDER BY id`,
      ),
    /** Requests the session of a browser; returns the status. */
    statusOf: async ({ ask }: { ask: (method: Method, url: string) => Promise<{ status: number }> }): Promise<number> =>
      (await ask('GET', SESSION)).status,
  };
}
