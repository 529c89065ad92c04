import { type Db, exec, sql } from '../../platform/db/query.ts';

/** NOTIFY channel of what people are to write to the sandbox; the payload is an `InboundAct` in JSON. */
export const SANDBOX_CHANNEL = 'heliograph_sandbox';

/** Tells whichever program runs the sandbox. A payload of PostgreSQL has 8,000 octets at most. */
export async function notifySandbox(db: Db, payload: string): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${SANDBOX_CHANNEL}, ${payload})`);
}
