import { bigint, bytea, insertRows, rowsOf, text, uuid } from '../../../platform/db/columns.ts';
import { type Db, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

/** A client id that a message takes for 24 hours. `contentHash` shows whether a repeat requests the same message. */
export type ClientIdClaim = {
  readonly accountId: number;
  readonly clientId: string;
  readonly messageId: string;
  readonly contentHash: Uint8Array;
};

/**
 * Takes client ids for 24 hours. Returns the message ids whose client id was free or had been taken more than 24 hours
 * ago; `listClientIds` finds the holders of the others. No client id may occur twice in one call.
 */
export async function insertClientIds(db: Db, claims: readonly ClientIdClaim[]): Promise<Set<string>> {
  const rows = await many<{ messageId: string }>(
    db,
    sql`${insertRows(
      'client_message_id AS c',
      claims,
      { accountId: bigint, clientId: text, messageId: uuid, contentHash: bytea },
      { created_at: sql`now()` },
    )}
        ORDER BY u.account_id, u.client_id
        ON CONFLICT (account_id, client_id) DO UPDATE
          SET message_id = excluded.message_id, content_hash = excluded.content_hash, created_at = excluded.created_at,
              newest_id = NULL
          WHERE c.created_at < now() - interval '24 hours'
        RETURNING c.message_id AS "messageId"`,
  );
  return new Set(rows.map((row) => row.messageId));
}

const CLIENT_ID_HOLDER = columns({
  accountId: as<number>('c.account_id'),
  clientId: as<string>('c.client_id'),
  messageId: as<string>('c.message_id'),
  contentHash: as<Buffer>('c.content_hash'),
  parts: as<number>('m.parts'),
});
/** The message that holds a client id. */
export type ClientIdHolder = RowOf<typeof CLIENT_ID_HOLDER>;

/**
 * Lists the messages that hold these client ids. Ids that were taken more than 24 hours ago are omitted. Each id is
 * looked up by its keys, whatever the planner expects: for an account that the statistics do not know yet it joined all
 * ids of the account with all its messages, which took a minute for 10,000.
 */
export const listClientIds = (
  db: Db,
  keys: readonly { accountId: number; clientId: string }[],
): Promise<ClientIdHolder[]> =>
  many(
    db,
    sql`SELECT ${CLIENT_ID_HOLDER}
        FROM ${rowsOf(keys, {
          account_id: bigint((k) => k.accountId),
          client_id: text((k) => k.clientId),
        })} AS u
        CROSS JOIN LATERAL (
          SELECT * FROM client_message_id i WHERE i.account_id = u.account_id AND i.client_id = u.client_id
            AND i.created_at >= now() - interval '24 hours' OFFSET 0) AS c
        CROSS JOIN LATERAL (
          SELECT k.parts FROM message k WHERE k.account_id = c.account_id AND k.id = c.message_id OFFSET 0) AS m`,
  );
