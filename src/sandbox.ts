import type { Pool } from 'pg';
import { type SandboxSmsc, startSandboxSmsc } from './carriers/sandbox/smsc.ts';
import type { Config } from './config.ts';
import { createConnection, updateConnection } from './connections/save.ts';
import { countRealConnections, findConnection } from './connections/sql.ts';
import { transaction } from './db/transaction.ts';
import { firstIdAt } from './lib/ids.ts';
import type { SecretKey } from './lib/secret-box.ts';
import { listOpenSubmits } from './receipts/submits/sql.ts';
import { deleteRoutesOf, insertRoute, notifyRoutes } from './routing/sql.ts';

const NAME = 'sandbox';
const SYSTEM_ID = 'heliograph';
const PASSWORD = 'sandbox';
/** Behind every route of an operator, whose default is 100. */
const PRIORITY = 1000;
const WINDOW = 500;
/** What is older has no receipt to come: carriers keep a message 48 hours when nothing is said. */
const OWED_MS = 48 * 3_600_000;
const MOST_OWED = 10_000;

/** SANDBOX, or when that leaves it open: while no real carrier is configured. */
export const wantsSandbox = async (config: Pick<Config, 'sandbox'>, pool: Pool): Promise<boolean> =>
  config.sandbox === 'auto' ? (await countRealConnections(pool)) === 0 : config.sandbox === 'on';

/**
 * Starts the sandbox SMSC on a free loopback port, and points the connection `sandbox` and a route for all SMS at it.
 * It is a carrier like any other: real PDUs over a real socket.
 */
export async function startSandbox(pool: Pool, key: SecretKey): Promise<SandboxSmsc> {
  const smsc = await startSandboxSmsc({
    systemId: SYSTEM_ID,
    password: PASSWORD,
    ledger: 'counts',
    receiptDelayMs: 500,
  });
  const settings = { host: '127.0.0.1', port: smsc.port, systemId: SYSTEM_ID, window: WINDOW, binds: 2 };
  const known = await findConnection(pool, { name: NAME });
  if (known) await updateConnection(pool, key, known, { settings, secret: PASSWORD });
  const { id } =
    known ?? (await createConnection(pool, key, { name: NAME, settings, secret: PASSWORD, sandbox: true }));
  await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId: id, priority: PRIORITY });
  await resume(smsc, pool, id);
  return smsc;
}

/** A carrier outlives its clients; this one died with the program, and with it the receipts that it had planned. */
async function resume(smsc: SandboxSmsc, pool: Pool, connectionId: number): Promise<void> {
  const firstId = firstIdAt(new Date(Date.now() - OWED_MS));
  const open = await listOpenSubmits(pool, { connectionId, firstId, limit: MOST_OWED });
  smsc.resume(
    open.map(({ carrierId, sender, destination, submittedAt }) => ({
      systemId: SYSTEM_ID,
      id: carrierId,
      source: sender.replace('+', ''),
      destination: destination.replace('+', ''),
      acceptedAt: submittedAt,
    })),
  );
}

/** Takes the sandbox's routes away: without it, messages would wait for a carrier that never comes. */
export async function retireSandbox(pool: Pool): Promise<void> {
  const known = await findConnection(pool, { name: NAME });
  if (!known?.sandbox) return;
  await transaction(pool, async (tx) => {
    await deleteRoutesOf(tx, { connectionId: known.id });
    await notifyRoutes(tx);
  });
}
