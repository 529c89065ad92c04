import { join } from 'node:path';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { GATEWAY_ACCOUNT_ID, systemAuthor } from '../identity/audit/record.ts';
import { createDemoAccount, type NewAccount } from '../operations/accounts/create.ts';
import type { Config } from '../platform/config.ts';
import { ensureCell } from '../platform/db/cell.ts';
import { MIGRATIONS_DIR, migrate } from '../platform/db/migrate.ts';
import { ensurePartitions } from '../platform/db/partitions.ts';
import { createPool } from '../platform/db/pool.ts';
import { readOrCreate } from '../platform/db/private-file.ts';
import { systemClock } from '../platform/lib/clock.ts';
import type { SecretKey } from '../platform/lib/secret-box.ts';
import { type AppLog, createLog } from '../platform/log.ts';
import { type Outbound, createOutbound } from '../platform/outbound/outbound.ts';
import { loadSecretKey } from '../platform/secret-key.ts';
import { findStorageFault } from '../platform/storage/check.ts';
import { openStorage } from '../platform/storage/open.ts';
import { createLinkSigner, type LinkSigner } from '../platform/storage/signed-links.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { describeOpen, retireSandbox } from '../simulators/sandbox/retire.ts';
import { assignSandboxNumbers, isSandboxWanted, type Sandbox, startSandbox } from '../simulators/sandbox/sandbox.ts';
import { openDatabase } from './open-database.ts';
import type { Closers, Stopping } from './stop.ts';

/** Resources that all roles need. */
export type Base = {
  readonly config: Config;
  readonly log: AppLog;
  readonly secretKey: SecretKey;
  readonly connectionString: string;
  readonly pool: Pool;
  readonly outbound: Outbound;
  readonly storage: Storage;
  readonly links: LinkSigner;
  /** Registers the function that closes an opened resource; the name is shown to the operator. */
  readonly onStop: Closers['add'];
};

/**
 * Opens what all roles need: the database with its current schema, and the stores. Creates what is missing on a first
 * start.
 *
 * @param options.processNumber included in each line of the log; undefined for a program in one process
 */
export async function openBase(
  config: Config,
  { add: onStop, addDatabase }: Closers,
  { stopping, processNumber }: { readonly stopping: Stopping; readonly processNumber?: number | undefined },
): Promise<{ base: Base; embedded: boolean }> {
  const log = createLog(config.logLevel, pino.destination(2), processNumber);
  const secretKey = await loadSecretKey(config);
  const { connectionString, embedded, close } = await openDatabase(config, log, stopping);
  addDatabase(close);
  stopping.signal.throwIfAborted();
  const pool = createPool(connectionString, { max: config.databasePool, applicationName: 'heliograph', log });
  onStop('pool', () => pool.end());
  await migrate(pool, { dir: MIGRATIONS_DIR, log });
  await ensureCell(pool, config.cell);
  await ensurePartitions(pool, systemClock.now());
  const outlet = await createOutbound(config);
  onStop('webhooks', outlet.poster.close);
  const storage = await openStorage(config);
  onStop('storage', storage.close);
  if (config.storage.kind === 's3') void warnOfStorage(storage, log);
  const links = createLinkSigner(secretKey);
  return {
    base: { config, log, secretKey, connectionString, pool, outbound: outlet, storage, links, onStop },
    embedded,
  };
}

/**
 * Warns if files cannot be stored. Not awaited: messages are sent without files, and an unreachable store must not
 * delay the start.
 */
async function warnOfStorage(storage: Storage, log: AppLog): Promise<void> {
  const fault = await findStorageFault(storage);
  if (fault !== undefined)
    log.error({ fault }, 'files cannot be stored: uploads and exports will fail until this is corrected');
}

/**
 * Starts the sandbox carriers if they are enabled; otherwise removes everything that leads to them, and retires them
 * unless messages are open there, about which the operator has to decide.
 */
export async function openSandbox({ onStop, ...base }: Base): Promise<Sandbox | null> {
  if (!(await isSandboxWanted(base.config, base.pool))) {
    const open = await retireSandbox(base.pool, systemAuthor(GATEWAY_ACCOUNT_ID));
    if (open.length > 0)
      base.log.warn(
        `messages are open on the sandbox, which does not run (${describeOpen(open)}): \`sandbox retire --end-messages\` ends them, \`sandbox restore\` and a restart run it`,
      );
    return null;
  }
  const sandbox = await startSandbox(base);
  onStop('sandbox', sandbox.close);
  return sandbox;
}

/** Logs that the sandbox (simulated carriers and networks) is not running in this process. */
export async function missSandbox({ config, pool, log }: Base): Promise<null> {
  if (await isSandboxWanted(config, pool))
    log.warn(
      'no sandbox in this process: simulated carriers and social networks run only in the command serve; SANDBOX=off hides this',
    );
  return null;
}

/**
 * Creates the demo account on a first start, and gives it the numbers of the sandbox. Its credentials are saved before
 * they are shown, so a crash does not lose them.
 */
export async function createDemo({ config, pool }: Base, sandbox: Sandbox | null): Promise<NewAccount | undefined> {
  const demo = await createDemoAccount(pool);
  if (demo) await readOrCreate(join(config.dataDir, 'demo.json'), () => `${JSON.stringify(demo, null, 2)}\n`);
  if (demo && sandbox) await assignSandboxNumbers(pool, demo);
  return demo;
}
