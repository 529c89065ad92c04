import { Type } from 'typebox';
import { recordAudit } from '../accounts/audit.ts';
import { CHANNELS } from '../core/channels.ts';
import { type Db, exec, many, type Sql, sql, textArray } from '../core/db/query.ts';
import { tenantTransaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { type App, ErrorOut, type PlatformDeps, ref } from '../core/http/app.ts';
import { assertScope, requireAnyScope } from '../core/http/auth.ts';
import { isUuid } from '../core/ids.ts';
import { OPEN_STATES } from '../core/message-state.ts';
import { insertRemovals } from '../core/storage.ts';
import { inboxMedia } from '../inbox/fetch.ts';

type Messages = { readonly accountId: number; readonly ids: readonly string[] };

/** Registers the route that deletes the content of a message. */
export function messageContentRoutes(app: App, { pool }: PlatformDeps): void {
  app.delete('/api/partner-gateway/v1/messages/:messageId/content', {
    onRequest: requireAnyScope([...CHANNELS, 'inbox'], 'write'),
    schema: {
      tags: ['Sending'],
      operationId: 'deleteMessageContent',
      summary: 'Delete the content of a message, sent or received',
      description:
        'By our id. Its text, its files and what its receipts quote are deleted; number, times, status and price stay. 409 ' +
        'while the message waits or has no final status. It cannot be undone.',
      params: Type.Object({ messageId: Type.String() }),
      response: { 204: Type.Null({ description: 'Deleted' }), 409: ref(ErrorOut) },
    },
    handler: async (request, reply) => {
      const { actor, params } = request;
      const id = params.messageId.toLowerCase();
      if (!isUuid(id)) throw new AppError('not_found');
      await tenantTransaction(pool, actor, async (tx) => {
        const { accountId } = actor;
        const messages = { accountId, ids: [id] };
        const found = await findMessage(tx, { accountId, id });
        if (!found) throw new AppError('not_found');
        assertScope(request, found.channel === 'inbound' ? 'inbox' : found.channel);
        if (found.open) throw new AppError('conflict', { message: 'The message has no final status yet' });
        await (found.channel === 'inbound' ? eraseInboundContents(tx, messages) : eraseContents(tx, messages));
        await recordAudit(tx, actor, { action: 'message.content', subject: `message:${id}` });
      });
      return reply.code(204).send(null);
    },
  });
}

type Found = { readonly channel: (typeof CHANNELS)[number] | 'inbound'; readonly open: boolean };

/** Finds a message of an account in either direction. */
async function findMessage(
  tx: Db,
  { accountId, id }: { readonly accountId: number; readonly id: string },
): Promise<Found | undefined> {
  const [found] = await many<Found>(
    tx,
    sql`SELECT m.channel, coalesce(s.status IN (${OPEN_STATES}), true) AS open
        FROM message m LEFT JOIN message_state s ON s.account_id = ${accountId} AND s.id = ${id}
        WHERE m.account_id = ${accountId} AND m.id = ${id}
        UNION ALL
        SELECT 'inbound', false FROM inbound_message WHERE account_id = ${accountId} AND id = ${id}`,
  );
  return found;
}

/**
 * Deletes the contents of messages of an account that have final states, in the caller's transaction. Receipts that
 * come later leave no text either.
 */
export async function eraseContents(tx: Db, { accountId, ids }: Messages): Promise<void> {
  const own = sql`account_id = ${accountId}`;
  const these = sql`ANY(${textArray(ids)}::uuid[])`;
  const statements: readonly Sql[] = [
    sql`UPDATE message SET body = '', content = NULL, udh = NULL, binary_body = NULL, tlvs = NULL
        WHERE ${own} AND id = ${these}`,
    sql`UPDATE message_state SET error_text = NULL, receipt_text = NULL, erased = true WHERE ${own} AND id = ${these}`,
    sql`UPDATE message_part SET receipt_text = NULL, erased = true WHERE ${own} AND message_id = ${these}`,
    sql`UPDATE message_event SET text = NULL WHERE ${own} AND message_id = ${these} AND text IS NOT NULL`,
    ...inConversations({ accountId, ids }),
  ];
  // The errors of events are those of the states.
  const failed = await many<{ id: string }>(
    tx,
    sql`SELECT id FROM message_state WHERE ${own} AND id = ${these} AND error_text IS NOT NULL ORDER BY id`,
  );
  for (const statement of statements) await exec(tx, statement);
  await eraseDeliveries(tx, { accountId, ids });
  await eraseErrors(tx, { accountId, ids: failed.map(({ id }) => id) });
}

/** Deletes what the log of webhooks repeats of messages. Events that wait are still sent, without the content. */
const eraseDeliveries = (tx: Db, { accountId, ids }: Messages): Promise<number> =>
  exec(
    tx,
    // An event is made after its message.
    sql`UPDATE webhook_delivery SET error = NULL, answer = NULL, failures = (
          SELECT coalesce(jsonb_agg(f - 'answer'), '[]') FROM jsonb_array_elements(failures) AS f)
        WHERE account_id = ${accountId} AND id >= ${firstOf(ids)}::uuid AND message_id = ANY(${textArray(ids)}::uuid[])
          AND (error IS NOT NULL OR answer <> '' OR failures <> '[]')`,
  );

const firstOf = (ids: readonly string[]): string | null => ids.toSorted()[0] ?? null;

/** Deletes the errors of messages from their events that wait, and from the feed. */
async function eraseErrors(tx: Db, { accountId, ids }: Messages): Promise<void> {
  if (ids.length === 0) return;
  const these = sql`ANY(${textArray(ids)}::uuid[])`;
  const cleared = sql`errors = ARRAY(
    SELECT CASE WHEN u.m = ${these} THEN NULL ELSE u.e END
    FROM unnest(message_ids, errors) WITH ORDINALITY AS u (m, e, n) ORDER BY u.n)`;
  const own = sql`WHERE account_id = ${accountId} AND array_remove(errors, NULL) <> '{}'
    AND EXISTS (SELECT FROM unnest(message_ids) AS m WHERE m = ${these})`;
  await exec(tx, sql`UPDATE webhook_outbox SET ${cleared} ${own}`);
  await exec(tx, sql`UPDATE webhook_published SET ${cleared} ${own} AND id >= ${firstOf(ids)}::uuid`);
}

/** Deletes the contents of received messages of an account, with their files, in the caller's transaction. */
async function eraseInboundContents(tx: Db, { accountId, ids }: Messages): Promise<void> {
  const own = sql`account_id = ${accountId}`;
  const these = sql`ANY(${textArray(ids)}::uuid[])`;
  // First: a worker that has just fetched the file has recorded it then, or does not any more.
  await inboxMedia.drop(tx, { accountId, keys: ids });
  const statements: readonly Sql[] = [
    sql`UPDATE inbound_message SET body = '', octets = '', details = NULL, content = NULL WHERE ${own} AND id = ${these}`,
    ...inConversations({ accountId, ids }),
  ];
  for (const statement of statements) await exec(tx, statement);
  await eraseDeliveries(tx, { accountId, ids });
  const files = await many<{ key: string }>(
    tx,
    sql`WITH gone AS (
          DELETE FROM media WHERE ${own} AND media_key = ANY(${textArray(ids)}::text[]) RETURNING file_key, thumbnail_key)
        SELECT unnest(array_remove(ARRAY[file_key, thumbnail_key], NULL)) AS key FROM gone`,
  );
  await insertRemovals(tx, { accountId, keys: files.map(({ key }) => key), afterSeconds: 0 });
}

/** The statements for what conversations repeat of messages. */
const inConversations = ({ accountId, ids }: Messages): readonly Sql[] => {
  const these = sql`ANY(${textArray(ids)}::uuid[])`;
  return [
    sql`UPDATE conversation c SET last_text = '' FROM inbox_message t
        WHERE c.account_id = ${accountId} AND t.account_id = ${accountId} AND t.id = ${these}
          AND c.chat_id = t.chat_id AND NOT EXISTS (
            SELECT FROM inbox_message n WHERE n.account_id = ${accountId} AND n.chat_id = t.chat_id AND n.id > t.id)`,
    sql`UPDATE inbox_message SET text = '', media = NULL WHERE account_id = ${accountId} AND id = ${these}`,
  ];
};
