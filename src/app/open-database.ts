import type { Config } from '../platform/config.ts';
import { startEmbedded } from '../platform/db/embedded/embedded.ts';
import { acquireServeLock } from '../platform/db/embedded/serve-lock.ts';
import { waitForPrimary } from '../platform/db/servers.ts';
import { StartupError } from '../platform/db/startup-error.ts';
import type { Log } from '../platform/lib/log.ts';
import type { Stopping } from './stop.ts';

export type OpenDatabase = {
  readonly connectionString: string;
  readonly embedded: boolean;
  /** Stops the embedded server. A server of the operator is not touched. */
  close(): Promise<void>;
};

/**
 * Opens the database of the program: the one of DATABASE_URL, or an embedded PostgreSQL in DATA_DIR. Throws a
 * StartupError if another program runs on the same DATA_DIR. The embedded server stops also when the process is halted.
 */
export async function openDatabase(config: Config, log: Log, stopping: Stopping): Promise<OpenDatabase> {
  if (config.databaseUrl !== undefined) {
    await waitForPrimary(config.databaseUrl);
    return { connectionString: config.databaseUrl, embedded: false, close: async () => undefined };
  }
  const { dataDir } = config;
  const server = await startEmbedded({ dataDir, log, signal: stopping.signal });
  const lock = await acquireServeLock(server.connectionString, `process ${process.pid}, ${config.publicUrl}`);
  if (!lock.held) {
    await server.release();
    throw new StartupError(
      `Heliograph already runs on ${dataDir} (${lock.holder}). Stop it first, or set another DATA_DIR.`,
    );
  }
  stopping.onHalt(server.halt);
  return {
    connectionString: server.connectionString,
    embedded: true,
    async close() {
      // Not awaited: an unresponsive server would delay the stop. The end of its session releases the lock, too.
      lock.release().catch(() => undefined);
      await server.stop();
    },
  };
}
