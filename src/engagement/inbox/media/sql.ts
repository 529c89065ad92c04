import type { InboundMedia } from '../../../carriers/events.ts';
import { bigint, json, rowsOf, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, one, sql } from '../../../platform/db/query.ts';

/** A file that is still at the network. */
export type NewInboxMedia = {
  readonly accountId: number;
  readonly id: string;
  readonly chatId: string;
  readonly connectionId: number;
  readonly media: InboundMedia;
};

export const insertInboxMedia = (db: Db, rows: readonly NewInboxMedia[]): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO inbox_media (account_id, message_id, chat_id, connection_id, source)
        SELECT u.account_id, u.message_id, u.chat_id, u.connection_id, u.source::jsonb FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          message_id: uuid((r) => r.id),
          chat_id: uuid((r) => r.chatId),
          connection_id: bigint((r) => r.connectionId),
          source: json((r) => JSON.stringify(r.media)),
        })} AS u`,
  );

export type DueMedia = NewInboxMedia & { readonly tries: number };

/**
 * Takes files that are due, and puts them off by `leaseSeconds`: whoever dies over one leaves it to be fetched again.
 */
export const claimInboxMedia = (
  db: Db,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<DueMedia[]> =>
  many(
    db,
    sql`UPDATE inbox_media m SET tries = m.tries + 1, due_at = now() + ${leaseSeconds} * interval '1 second'
        FROM (SELECT account_id, message_id FROM inbox_media WHERE due_at <= now()
              ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) AS d
        WHERE m.account_id = d.account_id AND m.message_id = d.message_id
        RETURNING m.account_id AS "accountId", m.message_id AS id, m.chat_id AS "chatId",
          m.connection_id AS "connectionId", m.source AS media, m.tries`,
  );

type Key = { readonly accountId: number; readonly id: string };

/** 0 when another worker was faster. */
export const deleteInboxMedia = (db: Db, { accountId, id }: Key): Promise<number> =>
  exec(db, sql`DELETE FROM inbox_media WHERE account_id = ${accountId} AND message_id = ${id}`);

export const updateInboxMediaDue = (db: Db, { accountId, id, delayMs }: Key & { delayMs: number }): Promise<number> =>
  exec(
    db,
    sql`UPDATE inbox_media SET due_at = now() + ${delayMs} * interval '1 millisecond'
        WHERE account_id = ${accountId} AND message_id = ${id}`,
  );

/** In how many milliseconds the next one is due, or null. */
export async function findNextMediaMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM inbox_media`,
  );
  return ms;
}
