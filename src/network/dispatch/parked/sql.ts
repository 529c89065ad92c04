import { type Db, exec, many, one, type Sql, sql } from '../../../platform/db/query.ts';
import { WAKE_CHANNEL } from '../wake.ts';

type AccountKey = { readonly accountId: number };

/**
 * Parks the chunks of an account: nobody claims them until `moveAccountFromParked`. Claimed chunks are parked as well: their
 * worker notices before it writes more of them, and returns them. Returns the number of chunks.
 */
export const moveAccountToParked = (db: Db, { accountId }: AccountKey): Promise<number> =>
  exec(
    db,
    sql`UPDATE dispatch_chunk c SET parked_until = c.available_at, available_at = 'infinity'
        FROM (SELECT id FROM dispatch_chunk WHERE account_id = ${accountId} AND parked_until IS NULL
              ORDER BY id FOR UPDATE) AS own
        WHERE c.id = own.id`,
  );

/** Whether a chunk stays parked when its account no longer is: its campaign is paused or cancelled. */
const staysParked = (chunk: Sql): Sql => sql`EXISTS (SELECT FROM campaign p
  WHERE p.account_id = ${chunk}.account_id AND p.id = ${chunk}.campaign_id
    AND (p.paused_at IS NOT NULL OR p.cancelled_at IS NOT NULL))`;

/** What the columns of a chunk are when its account is no longer parked, as `moveAccountFromParked` sets them. */
export const unparked = (chunk: Sql): { readonly available_at: Sql; readonly parked_until: Sql } => ({
  available_at: sql`CASE WHEN ${chunk}.parked_until IS NULL OR ${staysParked(chunk)}
    THEN ${chunk}.available_at ELSE ${chunk}.parked_until END`,
  parked_until: sql`CASE WHEN ${staysParked(chunk)} THEN ${chunk}.parked_until END`,
});

/**
 * Makes the parked chunks of an account available again at their former time, without those of campaigns that are paused
 * or cancelled. Returns their number.
 */
export const moveAccountFromParked = (db: Db, { accountId }: AccountKey): Promise<number> =>
  exec(
    db,
    sql`UPDATE dispatch_chunk c SET available_at = c.parked_until, parked_until = NULL
        FROM (SELECT d.id FROM dispatch_chunk d WHERE d.account_id = ${accountId} AND d.parked_until IS NOT NULL
                AND NOT ${staysParked(sql`d`)}
              ORDER BY d.id FOR UPDATE) AS own
        WHERE c.id = own.id`,
  );

/** Counts the chunks of an account that workers hold. */
export async function countOwnedChunks(db: Db, { accountId }: AccountKey): Promise<number> {
  const row = await one<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM dispatch_chunk WHERE account_id = ${accountId} AND owner IS NOT NULL`,
  );
  return row.count;
}

/** Wakes the pumps of all connections at which messages of an account wait. */
export const wakeAccount = (db: Db, { accountId }: AccountKey): Promise<unknown> =>
  many(
    db,
    sql`SELECT pg_notify(${WAKE_CHANNEL}, u.id::text)
        FROM (SELECT DISTINCT connection_id AS id FROM dispatch_chunk WHERE account_id = ${accountId}) AS u`,
  );
