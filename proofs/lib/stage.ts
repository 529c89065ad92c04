import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Plan } from '../../src/core/actor.ts';
import { loadConfig } from '../../src/core/config.ts';
import { attachEmbedded } from '../../src/core/db/embedded.ts';
import { ensureCell, MIGRATIONS_DIR, migrate } from '../../src/core/db/migrate.ts';
import { createPool, waitForPrimary } from '../../src/core/db/pool.ts';
import { silentLog } from '../../src/core/log.ts';
import { loadSecretKey } from '../../src/core/secrets.ts';
import { insertPrice, type NewPrice } from '../../src/money/prices.ts';
import { createAccount, type NewAccount } from '../../src/operate/account-commands.ts';
import { createConnection } from '../../src/routing/connections.ts';
import { insertRoute } from '../../src/routing/routes.ts';
import { NODE_FLAGS } from '../../bench/lib/processes.ts';
import { type Client, createClient } from '../../test/support/client.ts';
import { until } from '../../test/support/until.ts';
import { type CarrierLink, type CarrierProcess, type CarrierScript, startCarrier, type Protocol } from './carrier.ts';
import { type Process, startProcess } from './processes.ts';
import { faultFlags, type Run } from './proof.ts';

export type StageOptions = {
  /** `api` leaves the carriers to separate worker processes; `serve` runs everything in one process. */
  readonly gateway: 'api' | 'serve';
  /** Protocol of the carrier; `smpp` if absent. */
  readonly way?: Protocol;
  readonly script?: CarrierScript;
  /** Settings of the gateway's connection to the carrier, besides its address and the protocol. */
  readonly settings?: object;
  /** Action of the route for a single send whose outcome is unknown; `hold` if absent. */
  readonly onUnknown?: 'hold' | 'resubmit';
  /** Prices in addition to the price list of a new installation. */
  readonly prices?: readonly NewPrice[];
  /** Environment variables of the gateway and its workers, besides those of every run. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Modules that are loaded before the program, in addition to the run's sabotage, which is loaded last. */
  readonly preload?: readonly URL[];
};

/** An account of the run, with a client that uses its API key. */
export type Account = NewAccount & { readonly client: Client };

/** The gateway and the carrier of one run, each in a separate process. */
export type Stage = AsyncDisposable & {
  readonly carrier: CarrierProcess;
  readonly gateway: Process;
  /** A client of an account on the unlimited plan. */
  readonly client: Client;
  /** Creates an account without a request limit. */
  newAccount(account: { plan: Plan; creditMicros?: number }): Promise<Account>;
  /** The gateway's database, for what the API does not export. */
  readonly pool: Pool;
  startWorker(): Promise<Process>;
  /** Starts another process that serves the API and has pumps. */
  startServe(): Promise<Process>;
  /** Starts another process that serves the API; `environment` is added to that of the gateway. */
  startApi(environment?: Readonly<Record<string, string>>): Promise<Process>;
  /** The environment of the gateway, for operator commands as well. */
  readonly environment: Readonly<Record<string, string>>;
  /** Starts the gateway again after it was stopped, or another gateway; `environment` is added to its own. */
  startGateway(environment?: Readonly<Record<string, string>>): Promise<{ process: Process; client: Client }>;
};

const MAIN = new URL('../../src/main.ts', import.meta.url);

/**
 * Starts everything that one run needs: the carrier, a database with a route to the carrier, and the gateway. Disposing
 * of the stage stops all of it.
 */
export async function openStage(run: Run, options: StageOptions): Promise<Stage> {
  const {
    gateway: role,
    way = 'smpp',
    script = {},
    settings = {},
    prices = [],
    onUnknown = 'hold',
    preload = [],
  } = options;
  await using opened = new AsyncDisposableStack();
  const carrier = await startCarrier(run, way, script);
  opened.defer(carrier.stop);
  // A carrier over HTTP is on this machine here.
  const guard = way === 'http' ? { WEBHOOK_ALLOW_CIDRS: '127.0.0.1/32' } : {};
  const environment = { ...environmentOf(run), ...guard, ...options.environment };
  const { secret } = carrier.link;
  const link = { settings: { ...carrier.link.settings, ...settings }, secret };
  const { apiKey } = await withDatabase(environment, (pool) =>
    setUpDatabase(pool, environment, { way, link, prices, onUnknown, faults: run.sabotage?.sql ?? '' }),
  );

  const start = (command: string, more: Readonly<Record<string, string>>): Promise<Process> =>
    startProcess(run, {
      file: MAIN,
      args: [command, '--json'],
      flags: [...NODE_FLAGS, ...preload.flatMap((module) => ['--import', String(module)]), ...faultFlags(run)],
      environment: { ...environment, ...more },
    });
  const gateway = await start(role, {});
  opened.defer(async () => void (await gateway.stop()));
  await carrier.callTo(String(gateway.ready['address']));
  const connectionString = await findDatabaseUrl(environment);
  const pool = createPool(connectionString, { max: 4, applicationName: 'proof', log: silentLog });
  opened.defer(() => pool.end());
  const others: Process[] = [];
  opened.defer(async () => void (await Promise.all(others.map((process) => process.stop()))));
  const track = (process: Process): Process => {
    others.push(process);
    return process;
  };
  const startOther = async (command: string, more: Readonly<Record<string, string>> = {}): Promise<Process> =>
    track(await start(command, { DATABASE_URL: connectionString, ...more }));

  const clientOf = (key: string, of = gateway): Client => createClient(() => String(of.ready['address']), key);
  if (role === 'serve') await untilBound(pool);
  const all = opened.move();
  return {
    carrier,
    gateway,
    client: clientOf(apiKey),
    async newAccount(account) {
      const made = await createAccount(pool, { name: 'Other', ratePerMinute: 0, ...account });
      return { ...made, client: clientOf(made.apiKey) };
    },
    pool,
    startWorker: () => startOther('worker'),
    startServe: () => startOther('serve'),
    startApi: (more) => startOther('api', more),
    environment,
    async startGateway(more = {}) {
      const process = track(await start(role, more));
      return { process, client: clientOf(apiKey, process) };
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const environmentOf = ({ folder, databaseUrl }: Run): Record<string, string> => ({
  DATA_DIR: join(folder, 'data'),
  ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }),
  DATABASE_POOL: '8',
  SECRET_KEY: '5e'.repeat(32),
  SANDBOX: 'off',
  PORT: '0',
  LOG_LEVEL: 'warn',
  ...SOCIAL,
});

/** The social networks are configured, but nothing responds at their address; the proof about them has its own. */
const SOCIAL: Readonly<Record<string, string>> = {
  FACEBOOK_CLIENT_ID: 'proof',
  FACEBOOK_CLIENT_SECRET: 'proof',
  INSTAGRAM_CLIENT_ID: 'proof',
  INSTAGRAM_CLIENT_SECRET: 'proof',
  LINKEDIN_CLIENT_ID: 'proof',
  LINKEDIN_CLIENT_SECRET: 'proof',
  GOOGLE_CLIENT_ID: 'proof',
  GOOGLE_CLIENT_SECRET: 'proof',
  TIKTOK_CLIENT_ID: 'proof',
  TIKTOK_CLIENT_SECRET: 'proof',
  SOCIAL_URL: 'http://127.0.0.1:9',
};

type Environment = Readonly<Record<string, string>>;

/**
 * Runs `work` on the database before the gateway starts. A database of the gateway's own is started for this and
 * stopped again.
 */
async function withDatabase<T>(environment: Environment, work: (pool: Pool) => Promise<T>): Promise<T> {
  const { databaseUrl, dataDir } = loadConfig(environment);
  const server = databaseUrl === undefined ? await attachEmbedded({ dataDir, log: silentLog }) : null;
  const connectionString = server?.connectionString ?? databaseUrl ?? '';
  await waitForPrimary(connectionString);
  const pool = createPool(connectionString, { max: 2, applicationName: 'proof', log: silentLog });
  try {
    return await work(pool);
  } finally {
    await pool.end();
    await server?.release();
  }
}

type NetworkSetup = Required<Pick<StageOptions, 'way' | 'prices' | 'onUnknown'>> & {
  readonly link: CarrierLink;
  readonly faults: string;
};

async function setUpDatabase(pool: Pool, environment: Environment, setup: NetworkSetup): Promise<{ apiKey: string }> {
  await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
  await ensureCell(pool, loadConfig(environment).cell);
  if (setup.faults !== '') await pool.query(setup.faults);
  const key = await loadSecretKey(loadConfig(environment));
  const { id } = await createConnection(pool, key, {
    name: 'proof',
    kind: setup.way,
    settings: setup.link.settings,
    secret: setup.link.secret,
    sandbox: false,
  });
  await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId: id, priority: 100, onUnknown: setup.onUnknown });
  for (const price of setup.prices) await insertPrice(pool, price);
  return createAccount(pool, { name: 'Acme', plan: 'unlimited' });
}

/** Returns the URL of the gateway's database, which the gateway alone manages. */
async function findDatabaseUrl(environment: Environment): Promise<string> {
  const { databaseUrl, dataDir } = loadConfig(environment);
  if (databaseUrl !== undefined) return databaseUrl;
  const { connectionString, release } = await attachEmbedded({ dataDir, log: silentLog });
  await release();
  return connectionString;
}

const untilBound = (pool: Pool): Promise<unknown> =>
  until('a bind', async () => {
    const { rows } = await pool.query('SELECT 1 FROM connection_status WHERE binds_up = binds_wanted');
    return rows.length > 0;
  });
