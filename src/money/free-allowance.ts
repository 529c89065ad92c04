import { bigint, rowsOf, text, uuid } from '../core/db/columns.ts';
import { type Db, exec, many, type Sql, sql } from '../core/db/query.ts';

/**
 * The free allowance of service messages: Meta bills the first ones of each phone number in a month, in UTC, at nothing
 * (developers.facebook.com/documentation/business-messaging/whatsapp/pricing/non-template-messages). The counter moves
 * in the transaction that accepts a message, and back in the one that records that it was not delivered.
 */
type Wanted = { readonly accountId: number; readonly id: string; readonly sender: string };

const MONTH = sql`date_trunc('month', now() AT TIME ZONE 'UTC')::date`;

/** Takes the allowance for as many of these messages as there is left, in their order; returns their ids. */
export async function takeAllowance(
  tx: Db,
  wanted: readonly Wanted[],
  { perNumber }: { readonly perNumber: number },
): Promise<ReadonlySet<string>> {
  const asked = sql`(SELECT u.*, row_number() OVER (PARTITION BY u.sender ORDER BY u.id) AS place
                     FROM ${rowsOf(wanted, {
                       account_id: bigint((w) => w.accountId),
                       id: uuid((w) => w.id),
                       sender: text((w) => w.sender),
                     })} AS u)`;
  const senders = [...new Set(wanted.map(({ sender }) => sender))].sort();
  await exec(
    tx,
    sql`INSERT INTO free_allowance (sender, month) SELECT u.sender, ${MONTH} FROM ${rowsOf(senders, {
      sender: text((sender) => sender),
    })} AS u ORDER BY u.sender ON CONFLICT DO NOTHING`,
  );
  const granted = await many<{ id: string }>(
    tx,
    sql`WITH asked AS (SELECT * FROM ${asked} AS a),
        held AS (
          SELECT f.sender, f.used FROM free_allowance f
          WHERE f.month = ${MONTH} AND f.sender IN (SELECT sender FROM asked) ORDER BY f.sender FOR UPDATE),
        granted AS (
          SELECT a.account_id, a.id, a.sender FROM asked a JOIN held h ON h.sender = a.sender
          WHERE h.used + a.place <= ${perNumber}::bigint),
        counted AS (
          UPDATE free_allowance f SET used = f.used + g.messages
          FROM (SELECT sender, count(*) AS messages FROM granted GROUP BY sender) AS g
          WHERE f.sender = g.sender AND f.month = ${MONTH})
        INSERT INTO free_message (account_id, message_id, sender, month)
        SELECT account_id, id, sender, ${MONTH} FROM granted
        RETURNING message_id AS id`,
  );
  return new Set(granted.map(({ id }) => id));
}

type Key = { readonly accountId: number; readonly id: string };

/** Gives the allowance of messages back that were not delivered, with one statement. */
export async function returnAllowance(tx: Db, keys: readonly Key[]): Promise<void> {
  if (keys.length === 0) return;
  await exec(tx, returned(keys));
}

const returned = (keys: readonly Key[]): Sql => sql`
  WITH gone AS (
    DELETE FROM free_message f USING ${rowsOf(keys, {
      account_id: bigint((k) => k.accountId),
      id: uuid((k) => k.id),
    })} AS u
    WHERE f.account_id = u.account_id AND f.message_id = u.id
    RETURNING f.sender, f.month)
  UPDATE free_allowance f SET used = greatest(0, f.used - g.messages)
  FROM (SELECT sender, month, count(*) AS messages FROM gone GROUP BY sender, month) AS g
  WHERE f.sender = g.sender AND f.month = g.month`;

/** Deletes what is kept to give the allowance of former months back. Returns the number of messages. */
export const deleteFreeMessages = (
  db: Db,
  { before, limit }: { readonly before: Date; readonly limit: number },
): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM free_message WHERE (account_id, message_id) IN (
          SELECT account_id, message_id FROM free_message WHERE month < ${before}::date LIMIT ${limit})`,
  );
