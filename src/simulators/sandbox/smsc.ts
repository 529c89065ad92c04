import type { Pool } from 'pg';
import { type SandboxSmsc, startSandboxSmsc } from '../smsc/smsc.ts';
import { createConnection, updateConnection } from '../../network/connections/save.ts';
import { findConnection, notifyRoutingChange } from '../../network/connections/sql.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { deleteRoutesOf, insertRoute } from '../../network/routing/sql.ts';
import { listOwed } from './owed.ts';

/** The name of the sandbox's SMS connection. */
export const SMSC_NAME = 'sandbox';
const SYSTEM_ID = 'heliograph';
const PASSWORD = 'sandbox';
/** Lower precedence than every route of an operator, whose default is 100. */
const PRIORITY = 1000;
const WINDOW = 500;

/**
 * Starts the sandbox SMSC on a free loopback port, and creates or updates the connection `sandbox` and a route for all
 * SMS to it. It is a carrier like any other: real PDUs over a real socket.
 */
export async function startSmsc(pool: Pool, key: SecretKey): Promise<SandboxSmsc> {
  const smsc = await startSandboxSmsc({
    systemId: SYSTEM_ID,
    password: PASSWORD,
    ledger: 'counts',
    receiptDelayMs: 500,
  });
  const settings = { host: '127.0.0.1', port: smsc.port, systemId: SYSTEM_ID, window: WINDOW, binds: 2 };
  const known = await findConnection(pool, { name: SMSC_NAME });
  const secret = { password: PASSWORD };
  if (known) await updateConnection(pool, key, known, { settings, secret });
  const { id } =
    known ?? (await createConnection(pool, key, { name: SMSC_NAME, kind: 'smpp', settings, secret, sandbox: true }));
  await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId: id, priority: PRIORITY });
  await resumeOwed(smsc, pool, id);
  return smsc;
}

async function resumeOwed(smsc: SandboxSmsc, pool: Pool, connectionId: number): Promise<void> {
  const owed = await listOwed(pool, connectionId);
  smsc.resume(
    owed.map(({ carrierId, sender, destination, submittedAt }) => ({
      systemId: SYSTEM_ID,
      id: carrierId,
      source: sender.replace('+', ''),
      destination: destination.replace('+', ''),
      acceptedAt: submittedAt,
    })),
  );
}

/** Deletes the sandbox's routes: messages over them would wait for a carrier that never starts. */
export async function retireSmsc(pool: Pool): Promise<void> {
  const known = await findConnection(pool, { name: SMSC_NAME });
  if (!known?.sandbox) return;
  await transaction(pool, async (tx) => {
    await deleteRoutesOf(tx, { connectionId: known.id });
    await notifyRoutingChange(tx);
  });
}
