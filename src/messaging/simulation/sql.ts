import { bigint, input, insertRows, int, smallint, uuid } from '../../platform/db/columns.ts';
import { type Db, exec, many, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

type Key = { readonly accountId: number; readonly messageId: string };

/** NOTIFY channel that is raised when outcomes are planned, so that workers look for the next one immediately. */
export const SIMULATED_CHANNEL = 'heliograph_simulated';

/** Plans the final state of simulated messages. */
export async function insertSimulated(
  db: Db,
  rows: readonly (Key & { readonly status: number; readonly delayMs: number })[],
): Promise<void> {
  await exec(
    db,
    sql`WITH planned AS (
        ${insertRows(
          'simulated_outcome',
          rows,
          { accountId: bigint, messageId: uuid, status: smallint, delayMs: input(int) },
          { due_at: sql`now() + u.delay_ms * interval '1 millisecond'` },
        )})
        SELECT pg_notify(${SIMULATED_CHANNEL}, '')`,
  );
}

const SIMULATED_OUTCOME = columns({
  accountId: as<number>('o.account_id'),
  messageId: as<string>('o.message_id'),
  status: as<number>('o.status'),
  dueAt: as<Date>('o.due_at'),
});
/** The planned outcome of a simulated message. */
export type SimulatedOutcome = RowOf<typeof SIMULATED_OUTCOME>;

/** Takes the oldest `limit` simulated outcomes whose time has come. They are deleted when the transaction commits. */
export const deleteDueSimulated = (db: Db, limit: number): Promise<SimulatedOutcome[]> =>
  many(
    db,
    sql`DELETE FROM simulated_outcome o
        USING (SELECT account_id, message_id FROM simulated_outcome WHERE due_at <= now()
               ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) AS due
        WHERE o.account_id = due.account_id AND o.message_id = due.message_id
        RETURNING ${SIMULATED_OUTCOME}`,
  );

/** Returns how long it is until the next simulated outcome is due, in ms; null when there is none. */
export async function findNextSimulatedMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM simulated_outcome`,
  );
  return ms;
}
