import type { InboundMedia } from '../../../carriers/events.ts';
import { bigint, input, insertRows, json, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';

/** A file of an inbound message that is still to be fetched from the network. */
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
    insertRows(
      'inbox_media',
      rows.map(({ accountId, id, chatId, connectionId, media }) => ({
        accountId,
        messageId: id,
        chatId,
        connectionId,
        source: JSON.stringify(media),
      })),
      { accountId: bigint, messageId: uuid, chatId: uuid, connectionId: bigint, source: input(json) },
      { source: sql`u.source::jsonb` },
    ),
  );

const DUE_MEDIA = columns({
  accountId: as<number>('m.account_id'),
  /** The id of the message. */
  id: as<string>('m.message_id'),
  chatId: as<string>('m.chat_id'),
  connectionId: as<number>('m.connection_id'),
  media: as<InboundMedia>('m.source'),
  /** Number of tries, including this one. */
  tries: as<number>('m.tries'),
});

/** A file that is due to be fetched. */
export type DueMedia = Readonly<RowOf<typeof DUE_MEDIA>>;

/**
 * Claims files that are due by postponing them by `leaseSeconds`: if a worker dies while it fetches a file, the file is
 * fetched again after that time.
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
        RETURNING ${DUE_MEDIA}`,
  );

type Key = { readonly accountId: number; readonly id: string };

/** Deletes the job of a file. Returns 0 when another worker was faster. */
export const deleteInboxMedia = (db: Db, { accountId, id }: Key): Promise<number> =>
  exec(db, sql`DELETE FROM inbox_media WHERE account_id = ${accountId} AND message_id = ${id}`);

export const updateInboxMediaDue = (db: Db, { accountId, id, delayMs }: Key & { delayMs: number }): Promise<number> =>
  exec(
    db,
    sql`UPDATE inbox_media SET due_at = now() + ${delayMs} * interval '1 millisecond'
        WHERE account_id = ${accountId} AND message_id = ${id}`,
  );

/** Returns the ms until the next file is due; null when none is waiting. */
export async function findNextMediaMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM inbox_media`,
  );
  return ms;
}
