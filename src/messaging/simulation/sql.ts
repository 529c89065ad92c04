import { bigint, int, rowsOf, smallint, uuid } from '../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../platform/db/query.ts';

type Key = { readonly accountId: number; readonly messageId: string };

/** Told when outcomes are planned, so that workers look for the next one at once. */
export const SIMULATED_CHANNEL = 'heliograph_simulated';

/** Plans the final state of simulated messages. */
export async function insertSimulated(
  db: Db,
  rows: readonly (Key & { readonly status: number; readonly delayMs: number })[],
): Promise<void> {
  await exec(
    db,
    sql`WITH planned AS (
        INSERT INTO simulated_outcome (account_id, message_id, status, due_at)
        SELECT u.account_id, u.message_id, u.status, now() + u.delay_ms * interval '1 millisecond' FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          message_id: uuid((r) => r.messageId),
          status: smallint((r) => r.status),
          delay_ms: int((r) => r.delayMs),
        })} AS u)
        SELECT pg_notify(${SIMULATED_CHANNEL}, '')`,
  );
}

/** Takes simulated outcomes whose time has come. */
export async function deleteDueSimulated(
  db: Db,
  limit: number,
): Promise<{ accountId: number; messageId: string; status: number; dueAt: Date }[]> {
  return many(
    db,
    sql`DELETE FROM simulated_outcome o
        USING (SELECT account_id, message_id FROM simulated_outcome WHERE due_at <= now()
               ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) AS due
        WHERE o.account_id = due.account_id AND o.message_id = due.message_id
        RETURNING o.account_id AS "accountId", o.message_id AS "messageId", o.status, o.due_at AS "dueAt"`,
  );
}

/** How long until the next simulated outcome is due, in ms; null when none waits. */
export async function findNextSimulatedMs(db: Db): Promise<number | null> {
  const [row] = await many<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM simulated_outcome`,
  );
  return row?.ms ?? null;
}
