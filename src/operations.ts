import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { Command } from 'commander';
import Fastify, { type InjectOptions, type RouteOptions } from 'fastify';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { findAccount } from './accounts/accounts.ts';
import { GATEWAY_ACCOUNT_ID, operatorAuthor } from './accounts/audit.ts';
import { findNumberRules } from './accounts/numbers.ts';
import { findShownAccount } from './accounts/sessions.ts';
import { type ApiDeps, signedRoutes } from './api.ts';
import { createClosers, openStores } from './base.ts';
import { type Actor, scopesOfRole } from './core/actor.ts';
import { CHANNELS, channelSet } from './core/channels.ts';
import type { CommandContext } from './core/cli.ts';
import {
  addOperation,
  kebab,
  type Named,
  type Operation,
  type OperationRequest,
  type Schema,
} from './core/cli-operations.ts';
import { loadConfig } from './core/config.ts';
import { AppError, type FieldError, invalidFields } from './core/errors.ts';
import { type App, SHARED_SCHEMAS } from './core/http/app.ts';
import { accessToRoute, authentication } from './core/http/auth.ts';
import { createServer } from './core/http/server.ts';
import { createLog } from './core/log.ts';
import { createMetrics } from './core/metrics.ts';
import { DEFAULT_NUMBER_RULES } from './core/phone.ts';
import { isRecord } from './core/schema.ts';
import { loadSecretKey } from './core/secrets.ts';
import { createWaker } from './dispatch/pump.ts';
import { createAccept } from './messages/accept.ts';
import { openApiDeps, openRouting } from './serve.ts';

/**
 * Registers the commands of the API's operations: those that routes name in `config.command`, and all others below
 * `call`. They run in this process on the database, without a server, with the rights of an operator; the audit log
 * names the system user.
 */
export function registerOperations(program: Command, context: CommandContext): void {
  for (const { route, operation } of listOperations()) {
    const perform = (requestOf: Parameters<Parameters<typeof addOperation>[2]['perform']>[0]) =>
      context.withDatabase(async (pool, connectionString) => {
        const find = async (reference: string) => (await findAccount(pool, { reference })).id;
        return performRequest(context, { pool, connectionString, request: await requestOf(find) });
      });
    const commands = commandsOf(route);
    if ('none' in commands) continue;
    for (const named of commands) addOperation(program, context, { operation, named, perform });
  }
}

type Listed = { readonly route: RouteOptions; readonly operation: Operation };

let operations: readonly Listed[] | undefined;

/** Lists the operations that need credentials, once for a process. */
export const listOperations = (): readonly Listed[] => (operations ??= findOperations());

/** Registers the routes and never builds them, so that it takes 50 ms. */
function findOperations(): readonly Listed[] {
  const app: App = Fastify({ exposeHeadRoutes: false }).withTypeProvider<TypeBoxTypeProvider>();
  const listed: Listed[] = [];
  app.addHook('onRoute', (route) => void listed.push({ route, operation: operationOf(route) }));
  signedRoutes(app, UNOPENED);
  return listed;
}

/**
 * Returns the commands of a route, or the reason why it has none. One that names no command is in the group `call`, by
 * its operation id.
 */
export function commandsOf({ config, schema }: RouteOptions): readonly Named[] | { readonly none: string } {
  if (schema?.tags?.includes('Sessions')) return { none: 'the person at this machine is not signed in' };
  if (config?.form !== undefined) return { none: 'it takes the form of a page' };
  const command = config?.command ?? `call ${kebab(schema?.operationId ?? '')}`;
  return typeof command === 'object' && 'none' in command ? command : [command].flat();
}

function operationOf(route: RouteOptions): Operation {
  const { url, schema = {} } = route;
  const { summary = '', description = '', params, querystring, body } = schema;
  return {
    method: String([route.method].flat()[0]),
    url,
    summary,
    description,
    params: schemaOf(params),
    query: schemaOf(querystring),
    body: schemaOf(body),
    ofAccount: accessToRoute({ ...route, schema: {} })?.scope.includes('operator') !== true,
  };
}

const schemaOf = (value: unknown): Schema | undefined => (isRecord(value) ? value : undefined);

/** Stands for all dependencies while routes are only listed, which opens and calls none of them. */
const UNOPENED: ApiDeps = new Proxy(
  Object.assign(() => undefined, {}),
  {
    get: (_, name): unknown => (name === 'config' ? loadConfig({}) : UNOPENED),
    apply: (): unknown => UNOPENED,
  },
) as unknown as ApiDeps;

type Performing = {
  readonly pool: Pool;
  readonly connectionString: string;
  readonly request: OperationRequest;
};

async function performRequest(
  context: CommandContext,
  { pool, connectionString, request }: Performing,
): Promise<unknown> {
  const config = context.config();
  const closers = createClosers();
  const opened = {
    config,
    log: createLog('error', pino.destination(2)),
    secretKey: await loadSecretKey(config),
    connectionString,
    pool,
  };
  try {
    const base = await openStores({ ...opened, onStop: closers.add });
    const routing = await openRouting(base);
    const none = { recentMessages: null, tracing: null };
    const accept = createAccept({ pool, tables: routing.tables, waker: createWaker(pool), ...none });
    const parts = { accept, routing, metrics: createMetrics(), sandbox: null, tracing: null };
    const { deps } = openApiDeps(base, parts);
    return await inject(deps, await actorAt(pool, request.accountId), request);
  } finally {
    await closers.closeAll();
  }
}

type ErrorAnswer = { readonly message: string; readonly details?: readonly FieldError[] };

/** Sends a request to a server that listens nowhere and takes everyone for `actor`. */
async function inject(deps: ApiDeps, actor: Actor, request: OperationRequest): Promise<unknown> {
  const app = createServer(deps);
  for (const schema of SHARED_SCHEMAS) app.addSchema(schema);
  app.register(async (closed: App) => {
    closed.register(authentication, { authenticate: async () => ({ actor, headers: {} }) });
    signedRoutes(closed, deps);
  });
  const options: InjectOptions = {
    method: request.method as 'GET',
    url: request.url,
    // TRUST_PROXY may name this machine, and then asks how the request has arrived.
    headers: { 'x-forwarded-proto': 'https' },
    ...(isRecord(request.body) && { payload: request.body }),
  };
  try {
    return answerOf(await app.inject(options));
  } finally {
    await app.close();
  }
}

type Response = Awaited<ReturnType<App['inject']>>;

/** Reads the body of a response. Throws its error. */
function answerOf({ statusCode, body, headers }: Response): unknown {
  const isJson = String(headers['content-type']).startsWith('application/json');
  const answer: unknown = body === '' ? null : isJson ? JSON.parse(body) : body;
  if (statusCode < 400) return answer;
  const { message, details }: Partial<ErrorAnswer> = isRecord(answer) ? answer : {};
  throw details ? invalidFields(details) : new Error(message ?? `The operation failed with ${statusCode}`);
}

/** Returns the person at this machine as the caller, in an account or in none. */
async function actorAt(pool: Pool, accountId: number | null): Promise<Actor> {
  const author = operatorAuthor(accountId ?? GATEWAY_ACCOUNT_ID);
  const rights = { ...author, role: 'admin', operations: scopesOfRole('admin'), isOperator: true } as const;
  if (accountId === null)
    return { ...rights, plan: 'unlimited', channels: new Set(CHANNELS), numberRules: DEFAULT_NUMBER_RULES };
  const [account, numberRules] = [await findShownAccount(pool, author), await findNumberRules(pool, author)];
  if (!account || !numberRules) throw new AppError('not_found');
  return { ...rights, plan: account.plan, channels: channelSet(account.channels), numberRules };
}
