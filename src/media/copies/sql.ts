import { type Db, exec, maybeOne, sql } from '../../platform/db/query.ts';

/** A file of an account, as it was uploaded to a network for messages of one sender. */
type Copy = {
  readonly accountId: number;
  readonly mediaId: number;
  /** The sender of the messages: a network accepts the copy only from it. */
  readonly sender: string;
};

/** Finds the network's id of a copy that it still has. */
export async function findCopy(
  db: Db,
  { accountId, mediaId, sender }: Copy,
): Promise<{ networkId: string } | undefined> {
  return maybeOne(
    db,
    sql`SELECT network_id AS "networkId" FROM media_copy
        WHERE account_id = ${accountId} AND media_id = ${mediaId} AND sender = ${sender} AND expires_at > now()`,
  );
}

/**
 * Inserts or replaces a copy, unless its file was deleted meanwhile, and deletes those of the account that have
 * expired.
 */
export async function insertCopy(
  db: Db,
  { accountId, mediaId, sender, networkId, days }: Copy & { readonly networkId: string; readonly days: number },
): Promise<void> {
  await exec(
    db,
    sql`WITH old AS (
          DELETE FROM media_copy WHERE account_id = ${accountId} AND expires_at <= now()
            AND (media_id, sender) <> (${mediaId}, ${sender}))
        INSERT INTO media_copy (account_id, media_id, sender, network_id, expires_at)
        SELECT account_id, id, ${sender}, ${networkId}, now() + make_interval(days => ${days})
        FROM media WHERE account_id = ${accountId} AND id = ${mediaId}
        ON CONFLICT (account_id, media_id, sender)
        DO UPDATE SET network_id = excluded.network_id, expires_at = excluded.expires_at`,
  );
}

/** Deletes a copy that the network no longer has. */
export async function deleteCopy(
  db: Db,
  { accountId, mediaId, sender, networkId }: Copy & { readonly networkId: string },
): Promise<void> {
  await exec(
    db,
    sql`DELETE FROM media_copy
        WHERE account_id = ${accountId} AND media_id = ${mediaId} AND sender = ${sender} AND network_id = ${networkId}`,
  );
}
