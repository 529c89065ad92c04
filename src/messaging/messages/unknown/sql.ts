import { bigint, rowsOf, text, uuid } from '../../../platform/db/columns.ts';
import { timeOf } from '../../../platform/db/id-time.ts';
import { type Db, exec, sql } from '../../../platform/db/query.ts';
import { GIVE_UP_AFTER_MS } from '../validity.ts';

type Key = { readonly accountId: number; readonly messageId: string };
type Submit = Key & { readonly connectionId: number };

const keysOf = (keys: readonly Key[]) =>
  rowsOf(keys, { account_id: bigint((k) => k.accountId), message_id: uuid((k) => k.messageId) });

/**
 * The number and the sender as receipts spell them, and how long a receipt may report on the message. The values also
 * cover a message that no longer exists.
 */
const ADDRESSED = sql`coalesce(ltrim(m.destination, '+'), ''), coalesce(lower(ltrim(m.sender, '+')), ''),
  coalesce(m.valid_until, coalesce(m.scheduled_at, ${timeOf(sql`u.message_id`)})
                            + ${GIVE_UP_AFTER_MS} * interval '1 millisecond')`;

/** Adds messages to the list of unknown outcomes. A message that is on it already is unchanged. */
export async function insertUnknowns(db: Db, rows: readonly (Submit & { readonly reason: string })[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO unknown_outcome (account_id, message_id, connection_id, reason, parts, destination, sender,
                                     valid_until)
        SELECT u.account_id, u.message_id, u.connection_id, u.reason, coalesce(m.parts, 1), ${ADDRESSED}
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          message_id: uuid((r) => r.messageId),
          connection_id: bigint((r) => r.connectionId),
          reason: text((r) => r.reason),
        })} AS u
        LEFT JOIN message m ON m.account_id = u.account_id AND m.id = u.message_id
        ON CONFLICT DO NOTHING`,
  );
}

/** Stores submits whose carrier ids will never be known and for whose outcome nothing waits. */
export async function insertNameless(db: Db, rows: readonly Submit[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO nameless_submit (account_id, message_id, connection_id, destination, sender, valid_until)
        SELECT u.account_id, u.message_id, u.connection_id, ${ADDRESSED}
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          message_id: uuid((r) => r.messageId),
          connection_id: bigint((r) => r.connectionId),
        })} AS u
        LEFT JOIN message m ON m.account_id = u.account_id AND m.id = u.message_id
        ON CONFLICT DO NOTHING`,
  );
}

/** Removes messages from the list of unknown outcomes because all their carrier ids are known. Returns how many. */
export async function deleteUnknowns(db: Db, rows: readonly Key[]): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM unknown_outcome o USING ${keysOf(rows)} AS u
        WHERE o.account_id = u.account_id AND o.message_id = u.message_id`,
  );
}

/**
 * Moves messages from the list of unknown outcomes to the submits without a carrier id: a late receipt may still belong
 * to them. Returns how many moved.
 */
export async function moveToNameless(db: Db, rows: readonly Key[]): Promise<number> {
  return exec(
    db,
    sql`WITH gone AS (
          DELETE FROM unknown_outcome o USING ${keysOf(rows)} AS u
          WHERE o.account_id = u.account_id AND o.message_id = u.message_id RETURNING o.*)
        INSERT INTO nameless_submit (account_id, message_id, connection_id, destination, sender, valid_until)
        SELECT account_id, message_id, connection_id, destination, sender, valid_until FROM gone
        ON CONFLICT DO NOTHING`,
  );
}
