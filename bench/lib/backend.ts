import pg from 'pg';
import { attachEmbedded } from '../../src/core/db/embedded.ts';
import { silentLog } from '../../src/core/log.ts';
import { removeDataDir } from '../../test/support/data-dir.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { type Probed, runProbed } from './processes.ts';

/** A gateway with its own database, and the account that uses it. */
export type Backend = AsyncDisposable & {
  readonly gateway: Probed;
  readonly address: string;
  readonly apiKey: string;
  readonly accountId: number;
  readonly dataDir: string;
  readonly connectionString: string;
  readonly db: pg.Client;
  /** Stops the gateway and its PostgreSQL. The data stay until the disposal. */
  stop(): Promise<void>;
  /** Sends a request under /api/partner-gateway/v1 and returns the response. Throws unless it succeeds. */
  call<T>(method: string, path: string, body?: object): Promise<T>;
  /** Returns the time in ms that a GET takes, until the response is read completely. */
  time(path: string): Promise<number>;
};

/** The base path of the accounts' API. */
export const API = '/api/partner-gateway/v1';

/** Starts a gateway, without a carrier, on a data folder; resolves when it is ready. */
export const startGateway = (dataDir: string, more: Record<string, string> = {}): Promise<Probed> =>
  runProbed(['serve'], { PORT: '0', SANDBOX: 'off', ...more }, dataDir);

/**
 * Starts a gateway with its own database and without a carrier.
 * @param more environment variables of the gateway
 */
export async function openBackend(more: Record<string, string> = {}): Promise<Backend> {
  const dataDir = await temporaryFolder('heliograph-bench-');
  const gateway = await startGateway(dataDir, more);
  const server = await attachEmbedded({ dataDir, log: silentLog });
  const db = new pg.Client({ connectionString: server.connectionString });
  await db.connect();
  const address = String(gateway.ready['address']);
  const { apiKey, accountId } = gateway.ready['demo'] as { apiKey: string; accountId: number };

  async function request(method: string, path: string, body?: object): Promise<string> {
    const answer = await fetch(`${address}${API}${path}`, {
      method,
      headers: { 'x-api-key': apiKey, ...(body && { 'content-type': 'application/json' }) },
      body: body ? JSON.stringify(body) : null,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text;
  }

  let stopped: Promise<void> | undefined;
  async function stop(): Promise<void> {
    await db.end();
    await server.release();
    await gateway.stop();
  }

  return {
    gateway,
    address,
    apiKey,
    accountId,
    dataDir,
    db,
    connectionString: server.connectionString,
    call: async <T>(method: string, path: string, body?: object) => JSON.parse(await request(method, path, body)) as T,
    async time(path) {
      const start = performance.now();
      await request('GET', path);
      return performance.now() - start;
    },
    stop: () => (stopped ??= stop()),
    async [Symbol.asyncDispose]() {
      await (stopped ??= stop());
      await removeDataDir(dataDir);
    },
  };
}
