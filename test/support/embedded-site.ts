import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { type EmbeddedServer, startEmbedded } from '../../src/core/db/embedded.ts';
import { findServer, stopServer } from '../../src/core/db/embedded-process.ts';
import { silentLog } from '../../src/core/log.ts';
import { removeDataDir } from './data-dir.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A DATA_DIR with a cluster of PostgreSQL, on which the tests of a file start the server. */
export type EmbeddedSite = {
  readonly dataDir: string;
  readonly clusterDir: string;
  /** Starts the server of `dataDir`, or of another one, or attaches to the one that runs. */
  start(dir?: string): Promise<EmbeddedServer>;
  /** Gives all servers of `start` back, without stopping them. */
  releaseAll(): Promise<void>;
  /** Gives all servers of `start` back, and stops that of `dataDir`. */
  stopAll(): Promise<void>;
  /** Returns the process id of the server of `dataDir`; 0 if none runs. */
  serverPid(): Promise<number>;
};

/** Gives the test file a cluster whose server does not run yet, from its first test to its last. */
export function embeddedSite(): EmbeddedSite {
  const servers: EmbeddedServer[] = [];
  let folder = '';
  const site: EmbeddedSite = {
    get dataDir() {
      return join(folder, 'data');
    },
    get clusterDir() {
      return join(folder, 'data', 'postgres');
    },
    async start(dir = site.dataDir) {
      const server = await startEmbedded({ dataDir: dir, log: silentLog });
      servers.push(server);
      return server;
    },
    releaseAll: async () => void (await Promise.all(servers.splice(0).map((server) => server.release()))),
    async stopAll() {
      // Otherwise they would restart what the next line stops.
      await site.releaseAll();
      await stopServer(site.clusterDir);
    },
    serverPid: async () => (await findServer(site.clusterDir))?.pid ?? 0,
  };
  beforeAll(async () => {
    folder = await temporaryFolder(`heliograph-test-${process.pid}-`);
    await (await site.start()).stop();
  });
  afterAll(async () => {
    await site.stopAll();
    await removeDataDir(site.dataDir);
    await rm(folder, { recursive: true, maxRetries: 10 });
  });
  return site;
}

/** Returns the first column of the first row of a query. */
export async function valueOf(connectionString: string, query: string): Promise<unknown> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query<unknown[]>({ text: query, rowMode: 'array' });
  await client.end();
  return rows[0]?.[0];
}
