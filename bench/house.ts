import pg from 'pg';
import { attachEmbedded } from '../src/db/embedded.ts';
import { silentLog } from '../src/lib/log.ts';
import { removeDataDir } from '../src/testing/data-dir.ts';
import { temporaryFolder } from '../src/testing/temporary-folder.ts';
import { runCommand } from './processes.ts';

/** A gateway with its own database, and the account whose pages are timed. */
export type House = AsyncDisposable & {
  readonly connectionString: string;
  readonly db: pg.Client;
  readonly accountId: number;
  /** The milliseconds that an answer takes, read to its end. */
  time(path: string): Promise<number>;
};

/** Starts one of its own; nothing is sent from it. */
export async function openHouse(): Promise<House> {
  const dataDir = await temporaryFolder('heliograph-bench-');
  const gateway = await runCommand(['serve'], { DATA_DIR: dataDir, PORT: '0', SANDBOX: 'off' });
  const server = await attachEmbedded({ dataDir, log: silentLog });
  const db = new pg.Client({ connectionString: server.connectionString });
  await db.connect();
  const { apiKey, accountId } = gateway.ready['demo'] as { apiKey: string; accountId: number };
  return {
    connectionString: server.connectionString,
    db,
    accountId,
    async time(path) {
      const start = performance.now();
      const answer = await fetch(`${gateway.ready['address']}${path}`, { headers: { 'x-api-key': apiKey } });
      const text = await answer.text();
      const taken = performance.now() - start;
      if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${text}`);
      return taken;
    },
    async [Symbol.asyncDispose]() {
      await db.end();
      await server.release();
      await gateway.stop();
      await removeDataDir(dataDir);
    },
  };
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;

/** Of times in any order. */
export const p99 = (times: readonly number[]): number =>
  at(
    times.toSorted((x, y) => x - y),
    0.99,
  );

/** The middle and the end of times, by name. */
export const shownTimes = (name: string, times: readonly number[]): Record<string, number> => ({
  [`${name}.p50Ms`]: at(
    times.toSorted((x, y) => x - y),
    0.5,
  ),
  [`${name}.p99Ms`]: p99(times),
});
