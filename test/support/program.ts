import type { Pool } from 'pg';
import { loadConfig } from '../../src/core/config.ts';
import { ensureCell } from '../../src/core/db/migrate.ts';
import { loadSecretKey } from '../../src/core/secrets.ts';
import { createAccount, type NewAccount } from '../../src/operate/account-commands.ts';
import { notifyRoutingChange } from '../../src/routing/connection-store.ts';
import { createConnection } from '../../src/routing/connections.ts';
import { insertRoute } from '../../src/routing/routes.ts';
import { type SandboxOptions, type SandboxSmsc, startSandboxSmsc } from '../../src/sandbox/smsc.ts';
import { type Program, type Roles, startProgram } from '../../src/serve.ts';
import { type Client, createClient } from './client.ts';
import { removeDataDir } from './data-dir.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A sandbox carrier with the connection to it and its route. */
export type CarrierOptions = {
  readonly script?: SandboxOptions;
  /** Settings of the connection, besides host, port and system_id. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** The password that the connection binds with; the carrier expects `PASSWORD`. */
  readonly password?: string;
  readonly prefix?: string;
  readonly priority?: number;
};

export type TestProgram = AsyncDisposable & {
  readonly account: NewAccount;
  /** A client of the program's account. */
  readonly client: Client;
  /** Returns a client with another key; with the empty string, one without valid credentials. */
  clientOf(apiKey: string): Client;
  /** The SMSC of the first carrier. */
  readonly smsc: SandboxSmsc;
  carrier(name: string): SandboxSmsc;
  /** A pool for the test on the program's database. */
  readonly pool: Pool;
  /** Returns the address of the API. Throws if no API runs. */
  origin(): string;
  /** The environment that another process of this program needs. */
  readonly environment: Readonly<Record<string, string>>;
  /** Stops the program gracefully; the carriers and the database keep running. */
  stop(): Promise<void>;
  /** Starts the program again, on another port. */
  start(): Promise<void>;
};

export const PASSWORD = 'secret';
const ROLES: Roles = { api: true, worker: true, sandbox: false };

/**
 * Starts the program with all its roles, with its own database and carriers, as `serve` does, listening on a free
 * port. By default one carrier, `main`, takes every number and delivers after 10 ms.
 *
 *     await using program = await startTestProgram();
 */
export async function startTestProgram(
  options: {
    roles?: Partial<Roles>;
    carriers?: Readonly<Record<string, CarrierOptions>>;
    /** Settings of the program, as environment variables (docs/configuration.md). */
    environment?: Readonly<Record<string, string>>;
    /** Its database, with all migrations; it is disposed of with the program. One of this run's cluster by default. */
    database?: AsyncDisposable & TestDatabase;
    /** Returns the URL at which the program reaches its database, from that of the server. */
    through?: (databaseUrl: string) => string;
  } = {},
): Promise<TestProgram> {
  const { carriers = { main: {} }, roles, through = (url: string) => url } = options;
  const { database = await createTestDatabase() } = options;
  const { pool } = database;
  const dataDir = await temporaryFolder(`heliograph-test-${process.pid}-`);
  const environment = {
    DATABASE_URL: through(database.connectionString),
    DATA_DIR: dataDir,
    DATABASE_POOL: '8',
    SECRET_KEY: '5e'.repeat(32),
    SANDBOX: 'off',
    PORT: '0',
    LOG_LEVEL: 'silent',
    ...options.environment,
  };
  await ensureCell(pool, loadConfig(environment).cell);
  const account = await createAccount(pool, { name: 'Acme', plan: 'unlimited' });
  const smscs = new Map<string, SandboxSmsc>();
  for (const [name, carrier] of Object.entries(carriers)) {
    const smsc = await startCarrier(name, carrier);
    smscs.set(name, smsc);
    await connectCarrier(pool, environment, name, smsc.port, carrier);
  }

  let program: Program | null = null;
  const start = async (): Promise<void> => {
    program = await startProgram(loadConfig(environment), { ...ROLES, ...roles });
  };
  const stop = async (): Promise<void> => {
    await program?.stop();
    program = null;
  };
  const carrier = (name: string): SandboxSmsc => smscs.get(name) ?? missing(`no carrier ${name}`);
  const origin = (): string => program?.address ?? missing('no API runs');
  const clientOf = (apiKey: string): Client => createClient(origin, apiKey);
  await start();
  return {
    account,
    client: clientOf(account.apiKey),
    clientOf,
    carrier,
    get smsc() {
      return carrier(Object.keys(carriers)[0] ?? '');
    },
    pool,
    environment,
    origin,
    start,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      for (const smsc of smscs.values()) await smsc.close();
      await database[Symbol.asyncDispose]();
      await removeDataDir(dataDir);
    },
  };
}

function missing(what: string): never {
  throw new Error(what);
}

/** Starts a sandbox SMSC that accepts the system_id `name` with `PASSWORD`. */
export const startCarrier = (name: string, { script }: CarrierOptions = {}): Promise<SandboxSmsc> =>
  startSandboxSmsc({ systemId: name, password: PASSWORD, receiptDelayMs: 10, ...script });

async function connectCarrier(
  pool: Pool,
  environment: Readonly<Record<string, string>>,
  name: string,
  port: number,
  { settings, password = PASSWORD, prefix = '', priority = 100 }: CarrierOptions,
): Promise<void> {
  const link = { host: '127.0.0.1', port, systemId: name, window: 50, ...settings };
  const key = await loadSecretKey(loadConfig(environment));
  const { id } = await createConnection(pool, key, {
    name,
    kind: 'smpp',
    settings: link,
    secret: { password },
    sandbox: false,
  });
  await insertRoute(pool, { channel: 'SMS', prefix, connectionId: id, priority });
  await notifyRoutingChange(pool);
}
