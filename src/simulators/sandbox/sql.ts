import { type Db, exec, sql } from '../../platform/db/query.ts';

/** The NOTIFY channel for inbound messages to simulate; the payload is a `SandboxInbound` in JSON. */
export const SANDBOX_CHANNEL = 'heliograph_sandbox';

/** Notifies the program that runs the sandbox. PostgreSQL limits the payload to 8,000 bytes. */
export async function notifySandbox(db: Db, payload: string): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${SANDBOX_CHANNEL}, ${payload})`);
}
