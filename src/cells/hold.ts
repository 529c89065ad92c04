import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { notifyAccountChange } from '../identity/accounts/sql.ts';
import { WEBHOOKS_CHANNEL } from '../messaging/webhooks/outbox/sql.ts';
import { notifyRoutingChange } from '../network/connections/sql.ts';
import { WAKE_CHANNEL } from '../network/dispatch/wake.ts';
import { type Db, exec, join, one, raw, sql } from '../platform/db/query.ts';
import { repeatedTransaction, setStatementTimeoutMinutes } from '../platform/db/transaction.ts';
import { AppError } from '../platform/errors.ts';
import { type ConnectionIds, COPY_SESSION, isWork, listOf, listTables, own, type Table, valueOf } from './copy.ts';

/** Time for which a move waits for work that workers have in hand. */
const PATIENCE_MS = 30_000;
/** Time to wait for receivers of events: those not acknowledged by then are sent again from the other cell. */
const EVENTS_MS = 3000;
const POLL_MS = 50;

/**
 * Ends the service of an account: its requests are answered with 503, and its work is put aside where no worker finds
 * it. Resolves when nothing writes for it any more; rejects after 30 seconds with what still prevents it. Errors: 409
 * when the account is not served here.
 */
export async function hold(source: Pool, { accountId, cell }: { accountId: number; cell: number }): Promise<void> {
  const mark = sql`UPDATE account SET away = 'held', cell = ${cell} WHERE id = ${accountId} AND away IS NULL`;
  if ((await exec(source, mark)) === 0) throw new AppError('conflict', { message: 'The account is not served here' });
  await notifyAccountChange(source, { accountId });
  // A transaction that began before this may not have seen the mark.
  const { instant } = await one<{ instant: string }>(source, sql`SELECT clock_timestamp()::text AS instant`);
  const tables = (await listTables(source)).filter(isWork);
  const beganAt = performance.now();
  for (;;) {
    // Repeatedly: a chunk that a carrier defers comes back as one that is not parked.
    await repeatedTransaction(source, (tx) => park(tx, accountId));
    // Work in hand needs the other queues until it is recorded.
    for (const table of tables.filter(({ name }) => name === 'campaign_job')) await putAside(source, table, accountId);
    const { owned, older, events } = await countOpen(source, { accountId, instant });
    const waited = performance.now() - beganAt;
    if (owned + older === 0 && (events === 0 || waited > EVENTS_MS) && (await end(source, tables, accountId))) return;
    if (waited > PATIENCE_MS)
      throw new Error(
        `Workers have ${owned} chunks of the account and ${older} older transactions are open: try again later.`,
      );
    await delay(POLL_MS);
  }
}

/** Parks chunks that a worker holds as well: it notices before it writes more of them, and returns them. */
const park = (tx: Db, accountId: number): Promise<number> =>
  exec(
    tx,
    sql`UPDATE dispatch_chunk c SET parked_until = c.available_at, available_at = 'infinity'
        FROM (SELECT id FROM dispatch_chunk WHERE account_id = ${accountId} AND parked_until IS NULL
              ORDER BY id FOR UPDATE) AS own WHERE c.id = own.id`,
  );

/** Waits for a worker that has locked some of the rows. */
const putAside = (db: Db, table: Table, accountId: number): Promise<number> =>
  exec(
    db,
    sql`WITH gone AS (DELETE FROM ${raw(table.name)} WHERE ${own(table, accountId)} RETURNING *)
        INSERT INTO account_work (account_id, table_name, content)
        SELECT ${accountId}::bigint, ${table.name}::text, gone::text FROM gone
        ORDER BY ${table.renewed.length > 0 ? listOf(table.renewed) : raw('1')}`,
  );

/**
 * Takes the balance away, for which every transaction that accepts messages waits, and then fails; and the events from
 * the worker that has them. If chunks were claimed meanwhile, undoes all of it and returns false.
 */
const end = (source: Pool, tables: readonly Table[], accountId: number): Promise<boolean> =>
  repeatedTransaction(source, async (tx) => {
    await setStatementTimeoutMinutes(tx, 60);
    await exec(tx, sql`SAVEPOINT begun`);
    await exec(tx, sql`SELECT FROM credit_balance WHERE account_id = ${accountId} FOR UPDATE`);
    await exec(tx, sql`DELETE FROM webhook_claim WHERE account_id = ${accountId}`);
    for (const table of tables) await putAside(tx, table, accountId);
    await park(tx, accountId);
    const { owned } = await one<{ owned: number }>(tx, sql`SELECT ${ownedBy(accountId)} AS owned`);
    if (owned > 0) await exec(tx, sql`ROLLBACK TO SAVEPOINT begun`);
    return owned === 0;
  });

const ownedBy = (accountId: number) =>
  sql`(SELECT count(*) FROM dispatch_chunk WHERE account_id = ${accountId} AND owner IS NOT NULL)`;

/**
 * Counts open work: chunks, transactions that began before `instant` and may write for the account, and events that
 * could be sent now. Exports only read, and so does the copy of another account.
 */
const countOpen = (db: Db, { accountId, instant }: { accountId: number; instant: string }) =>
  one<{ owned: number; older: number; events: number }>(
    db,
    sql`SELECT ${ownedBy(accountId)} AS owned,
          (SELECT count(*) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
             AND xact_start <= ${instant}::timestamptz AND application_name NOT IN ('heliograph export', ${COPY_SESSION})) AS older,
          (SELECT count(*) FROM (SELECT FROM webhook_outbox WHERE account_id = ${accountId} UNION ALL
             SELECT FROM webhook_retry WHERE account_id = ${accountId} AND due_at <= now()) AS e) AS events`,
  );

/**
 * Gives an account back to the workers of this database, in the caller's transaction: restores its work, and puts its
 * chunks among the first that wait at their connections. Those of campaigns that are paused or cancelled stay parked.
 */
export async function resume(
  tx: Db,
  { accountId, ids = new Map() }: { accountId: number; ids?: ConnectionIds },
): Promise<void> {
  await setStatementTimeoutMinutes(tx, 60);
  // From the last one: events that wait for another attempt are older than those that were never tried.
  for (const table of (await listTables(tx)).filter(isWork).toReversed()) await putBack(tx, table, accountId, ids);
  await exec(tx, sql`DELETE FROM account_work WHERE account_id = ${accountId}`);
  await exec(
    tx,
    sql`WITH firsts AS MATERIALIZED (
          SELECT k.connection_id, k.priority,
                 (SELECT min(q.round) FROM dispatch_chunk q WHERE q.connection_id = k.connection_id
                    AND q.priority = k.priority AND q.owner IS NULL AND q.available_at <= now()) AS round
          FROM (SELECT DISTINCT connection_id, priority FROM dispatch_chunk WHERE account_id = ${accountId}) AS k),
        own AS (
          SELECT d.id, coalesce(f.round, 0) - d.size + sum(d.size) OVER (PARTITION BY d.connection_id, d.priority
                                                                         ORDER BY d.round, d.id) AS round,
                 NOT EXISTS (SELECT FROM campaign p WHERE p.account_id = d.account_id AND p.id = d.campaign_id
                               AND (p.paused_at IS NOT NULL OR p.cancelled_at IS NOT NULL)) AS goes
          FROM dispatch_chunk d JOIN firsts f USING (connection_id, priority) WHERE d.account_id = ${accountId})
        UPDATE dispatch_chunk c SET round = own.round,
          available_at = CASE WHEN own.goes THEN coalesce(c.parked_until, c.available_at) ELSE c.available_at END,
          parked_until = CASE WHEN NOT own.goes THEN c.parked_until END
        FROM own WHERE c.id = own.id`,
  );
  await exec(
    tx,
    sql`SELECT pg_notify(${WEBHOOKS_CHANNEL}, '') UNION ALL SELECT pg_notify(${WAKE_CHANNEL}, u.id::text)
        FROM (SELECT DISTINCT connection_id AS id FROM dispatch_chunk WHERE account_id = ${accountId}) AS u`,
  );
  await notifyAccountChange(tx, { accountId });
  await notifyRoutingChange(tx);
}

function putBack(tx: Db, table: Table, accountId: number, ids: ConnectionIds): Promise<number> {
  const columns = table.columns.filter((column) => !table.renewed.includes(column));
  return exec(
    tx,
    sql`WITH w AS MATERIALIZED (
          SELECT id, content::${raw(table.name)} AS r FROM account_work
          WHERE account_id = ${accountId} AND table_name = ${table.name})
        INSERT INTO ${raw(table.name)} (${listOf(columns)})
        SELECT ${join(columns.map((column) => valueOf(table, column, ids, '(w.r).')))} FROM w ORDER BY w.id`,
  );
}

/** Serves a held account here again, in the caller's transaction; does nothing if it is not held. */
export async function release(tx: Db, accountId: number): Promise<void> {
  const served = sql`UPDATE account SET away = NULL, cell = NULL WHERE id = ${accountId} AND away = 'held'`;
  if ((await exec(tx, served)) > 0) await resume(tx, { accountId });
}
