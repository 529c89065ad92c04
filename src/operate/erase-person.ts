import { claimBook, updateContactCount } from '../contacts/limits.ts';
import { removeFromAllLists } from '../contacts/list-members.ts';
import { type Db, exec, many, plainArray, type Sql, sql, textArray } from '../core/db/query.ts';
import { insertRemovals } from '../core/storage.ts';
import { exportJob } from '../exports/make.ts';
import { findPersonData, type PersonAddresses, type PersonData } from '../exports/person-data.ts';
import { claimInboxes } from '../inbox/store.ts';

/**
 * Erases a person from all tables of an account, in the caller's transaction. Amounts, states and times of messages
 * stay, without number and content. Returns the number of rows by table. Only this file and the retention touch rows of
 * all features: what is erased should be readable in one place.
 */
export async function erasePerson(tx: Db, person: PersonAddresses): Promise<Readonly<Record<string, number>>> {
  const { accountId } = person;
  await claimInboxes(tx, { accountIds: [accountId] });
  const found = await findPersonData(tx, person);
  const counts: Record<string, number> = {};
  const { contactIds } = found;
  if (contactIds.length > 0) {
    await claimBook(tx, { accountId, to: 'change' });
    await removeFromAllLists(tx, accountId, { ids: contactIds });
    await updateContactCount(tx, { accountId, by: -contactIds.length });
  }
  counts['media'] = await eraseMedia(tx, found);
  counts['export'] = await eraseExports(tx, person);
  for (const [table, statement] of statementsFor(found)) {
    const rows = await exec(tx, statement);
    if (rows > 0) counts[table] = (counts[table] ?? 0) + rows;
  }
  return Object.fromEntries(Object.entries(counts).filter(([, rows]) => rows > 0));
}

/** Deletes the files that the person sent. */
async function eraseMedia(tx: Db, { accountId, inboundIds }: PersonData): Promise<number> {
  const gone = await many<{ fileKey: string; thumbnailKey: string | null }>(
    tx,
    sql`DELETE FROM media WHERE account_id = ${accountId} AND media_key = ANY(${textArray(inboundIds)}::text[])
        RETURNING file_key AS "fileKey", thumbnail_key AS "thumbnailKey"`,
  );
  const keys = gone.flatMap(({ fileKey, thumbnailKey }) => [fileKey, ...(thumbnailKey === null ? [] : [thumbnailKey])]);
  await insertRemovals(tx, { accountId, keys, afterSeconds: 0 });
  return gone.length;
}

/** Ends the exports of the account, whose files may contain the person: they can be made again. */
async function eraseExports(tx: Db, { accountId }: PersonAddresses): Promise<number> {
  const gone = await many<{ fileKey: string }>(
    tx,
    sql`WITH ended AS (
          SELECT id, file_key FROM export WHERE account_id = ${accountId} AND file_key IS NOT NULL FOR UPDATE)
        UPDATE export e SET status = 'EXPIRED', expires_at = least(e.expires_at, now()), file_key = NULL FROM ended
        WHERE e.account_id = ${accountId} AND e.id = ended.id RETURNING ended.file_key AS "fileKey"`,
  );
  await insertRemovals(tx, { accountId, keys: gone.map(({ fileKey }) => fileKey), afterSeconds: 0 });
  // Those in progress began before the erasure: a new job ends them.
  const pending = await many<{ id: string }>(
    tx,
    sql`SELECT id FROM export WHERE account_id = ${accountId} AND status = 'PENDING'`,
  );
  await exportJob.add(tx, ...pending.map(({ id }) => ({ accountId, key: id, payload: { exportId: id } })));
  return gone.length;
}

/**
 * Beginnings of the names of erased recipients, who have or have no message yet: messages are created in the order of
 * the numbers, so these come before and after all of them.
 */
const [MADE, UNMADE] = ['(erased) ', 'erased '];
/** A contact that does not exist: its recipient is skipped, as one is whose contact was deleted. */
const NO_CONTACT = 0;

/**
 * Lists the statements that erase what was found, by the table that they change. Tables of all accounts, such as receipts
 * that no message matches yet, are left to their own ends: an account must neither delete what may be another's nor learn
 * from a count that another one knows the number.
 */
function statementsFor(found: PersonData): readonly (readonly [table: string, statement: Sql])[] {
  const { accountId } = found;
  const forms = sql`ANY(${textArray(found.forms)}::text[])`;
  const written = sql`ANY(${textArray([...found.forms, ...found.bare])}::text[])`;
  const messages = sql`ANY(${textArray(found.messageIds)}::uuid[])`;
  const all = sql`ANY(${textArray([...found.messageIds, ...found.inboundIds])}::uuid[])`;
  const chats = sql`ANY(${textArray(found.chatIds)}::uuid[])`;
  const contacts = sql`ANY(${plainArray(found.contactIds)}::bigint[])`;
  const own = sql`account_id = ${accountId}`;
  const persons = sql`ANY(ARRAY(SELECT person_of(f) FROM unnest(${textArray(found.forms)}::text[]) AS f))`;
  /** The number of a campaign that is next to one of the person: a place in its order. */
  const neighbour = (number: Sql, side: 'before' | 'after'): Sql => sql`coalesce((
    SELECT ${side === 'before' ? sql`max(n.destination)` : sql`min(n.destination)`} FROM campaign_recipient n
    WHERE n.account_id = ${accountId} AND n.campaign_id = l.campaign_id
      AND ${side === 'before' ? sql`n.destination < ${number}` : sql`n.destination > ${number}`}), '')`;
  const holds = (column: Sql): Sql =>
    sql`EXISTS (SELECT FROM unnest(${textArray(found.traces)}::text[]) AS t WHERE position(t IN ${column}) > 0)`;
  const isTheirs = (number: Sql): Sql => sql`regexp_replace(${number}, '[^0-9A-Za-z.]', '', 'g') = ${written}`;
  return [
    [
      'message',
      sql`UPDATE message SET destination = '', body = '', content = NULL, udh = NULL, binary_body = NULL, client_id = NULL,
            tlvs = NULL, client_data = NULL WHERE ${own} AND id = ${messages}`,
    ],
    [
      'message_state',
      sql`UPDATE message_state SET error_text = NULL, receipt_text = NULL, erased = true WHERE ${own} AND id = ${messages}`,
    ],
    ['message_event', sql`DELETE FROM message_event WHERE ${own} AND message_id = ${messages}`],
    [
      'message_part',
      sql`UPDATE message_part SET receipt_text = NULL, erased = true WHERE ${own} AND message_id = ${messages}`,
    ],
    ['message_fallback', sql`DELETE FROM message_fallback WHERE ${own} AND message_id = ${messages}`],
    ['client_message_id', sql`DELETE FROM client_message_id WHERE ${own} AND message_id = ${messages}`],
    ['unknown_outcome', sql`UPDATE unknown_outcome SET destination = '' WHERE ${own} AND message_id = ${messages}`],
    ['smpp_receipt', sql`DELETE FROM smpp_receipt WHERE ${own} AND message_id = ${messages}`],
    ['smpp_outbox', sql`DELETE FROM smpp_outbox WHERE ${own} AND message_id = ${all}`],
    ['bulk_request', sql`DELETE FROM bulk_request WHERE ${own} AND ${holds(sql`results::text`)}`],
    ['inbound_message', sql`DELETE FROM inbound_message WHERE ${own} AND source = ${written}`],
    ['inbox_watch', sql`DELETE FROM inbox_watch WHERE ${own} AND chat_id = ${chats}`],
    ['inbox_event', sql`DELETE FROM inbox_event WHERE ${own} AND chat_id = ${chats}`],
    ['inbox_note', sql`DELETE FROM inbox_note WHERE ${own} AND chat_id = ${chats}`],
    ['inbox_message', sql`DELETE FROM inbox_message WHERE ${own} AND chat_id = ${chats}`],
    ['conversation_label', sql`DELETE FROM conversation_label WHERE ${own} AND chat_id = ${chats}`],
    ['conversation', sql`DELETE FROM conversation WHERE ${own} AND chat_id = ${chats}`],
    ['contact_activity', sql`DELETE FROM contact_activity WHERE ${own} AND contact_id = ${contacts}`],
    ['contact', sql`DELETE FROM contact WHERE ${own} AND id = ${contacts}`],
    [
      'campaign_recipient',
      sql`UPDATE campaign_recipient r
          SET (destination, contact_id) = (
            SELECT CASE WHEN count(*) = 0 THEN ${MADE} ELSE ${UNMADE} END || gen_random_uuid(),
              CASE WHEN count(*) > 0 THEN ${NO_CONTACT}::bigint END
            FROM campaign_lane l
            WHERE l.account_id = ${accountId} AND l.campaign_id = r.campaign_id AND l.country = r.country AND NOT l.done
              AND r.destination > l.fed_to)
          WHERE ${own} AND destination = ${forms}`,
    ],
    [
      'campaign_lane',
      sql`UPDATE campaign_lane l SET fed_to = ${neighbour(sql`l.fed_to`, 'before')} WHERE ${own} AND fed_to = ${forms}`,
    ],
    [
      'campaign_run',
      sql`UPDATE campaign_run l SET expanded_to = ${neighbour(sql`l.expanded_to`, 'before')} WHERE ${own} AND expanded_to = ${forms}`,
    ],
    [
      'campaign_batch',
      sql`UPDATE campaign_batch l
          SET first_destination = CASE WHEN first_destination = ${forms}
                THEN ${neighbour(sql`l.first_destination`, 'after')} ELSE first_destination END,
            last_destination = CASE WHEN last_destination = ${forms}
              THEN ${neighbour(sql`l.last_destination`, 'before')} ELSE last_destination END
          WHERE ${own} AND (first_destination = ${forms} OR last_destination = ${forms})`,
    ],
    [
      'campaign_fallback',
      sql`UPDATE campaign_fallback SET destination = ${MADE} || gen_random_uuid() WHERE ${own} AND destination = ${forms}`,
    ],
    [
      'campaign',
      sql`UPDATE campaign SET
            destinations = ARRAY(SELECT d FROM unnest(destinations) AS d WHERE NOT ${isTheirs(sql`d`)}),
            (numbers, number_countries, number_channels) = (
              SELECT coalesce(array_agg(n ORDER BY i), '{}'), coalesce(array_agg(c ORDER BY i), '{}'),
                coalesce(array_agg(h ORDER BY i), '{}')
              FROM unnest(numbers, number_countries, number_channels) WITH ORDINALITY AS u (n, c, h, i)
              WHERE NOT n = ${forms})
          WHERE ${own} AND numbers && ${textArray(found.forms)}::text[]`,
    ],
    ['campaign_draft', sql`DELETE FROM campaign_draft WHERE ${own} AND ${holds(sql`content::text`)}`],
    ['sticky_sender', sql`DELETE FROM sticky_sender WHERE ${own} AND destination = ${forms}`],
    ['marketing_week', sql`DELETE FROM marketing_week WHERE ${own} AND person = ${persons}`],
    ['keyword_count', sql`DELETE FROM keyword_count WHERE ${own} AND person = ${persons}`],
    ['consent_answer', sql`DELETE FROM consent_answer WHERE ${own} AND person = ${persons}`],
    ['opt_in', sql`DELETE FROM opt_in WHERE ${own} AND person = ${persons}`],
    ['suspected_opt_out', sql`DELETE FROM suspected_opt_out WHERE ${own} AND person = ${persons}`],
    ['consent', sql`DELETE FROM consent WHERE ${own} AND person = ${persons}`],
    ['consent_change', sql`DELETE FROM consent_change WHERE ${own} AND person = ${persons}`],
    ['person_alias', sql`DELETE FROM person_alias WHERE ${own} AND (alias = ${persons} OR person = ${persons})`],
    [
      'webhook_delivery',
      sql`DELETE FROM webhook_delivery WHERE ${own} AND (message_id = ${all} OR ${holds(sql`data::text`)})`,
    ],
    ['webhook_outbox', sql`DELETE FROM webhook_outbox WHERE ${own} AND ${holds(sql`data::text`)}`],
    ['contact_import_reject', sql`DELETE FROM contact_import_reject WHERE ${own} AND ${holds(sql`cells::text`)}`],
    ['contact_import', sql`UPDATE contact_import SET preview = '[]' WHERE ${own} AND ${holds(sql`preview::text`)}`],
    [
      'verification_code',
      sql`DELETE FROM verification_code c USING verification v
          WHERE c.account_id = ${accountId} AND v.account_id = ${accountId} AND v.id = c.verification_id
            AND v.person = ${persons}`,
    ],
    [
      'verification_message',
      sql`DELETE FROM verification_message WHERE ${own} AND verification_id IN (
            SELECT id FROM verification WHERE ${own} AND person = ${persons}
            UNION ALL SELECT id FROM verify_decision WHERE ${own} AND number = ${written})`,
    ],
    ['verification', sql`DELETE FROM verification WHERE ${own} AND person = ${persons}`],
    ['verify_decision', sql`DELETE FROM verify_decision WHERE ${own} AND number = ${written}`],
    ['verify_number', sql`DELETE FROM verify_number WHERE ${own} AND person = ${persons}`],
    ['verify_counter', sql`DELETE FROM verify_counter WHERE ${own} AND ${holds(sql`key`)}`],
    ['job', sql`DELETE FROM job WHERE ${own} AND kind <> 'person.erasure' AND ${holds(sql`payload::text`)}`],
    [
      'audit_entry',
      sql`UPDATE audit_entry SET subject = CASE WHEN ${holds(sql`subject`)} THEN 'erased' ELSE subject END,
            detail = CASE WHEN ${holds(sql`detail::text`)} THEN '{}' ELSE detail END
          WHERE ${own} AND (${holds(sql`subject`)} OR ${holds(sql`detail::text`)})`,
    ],
    ['export', sql`DELETE FROM export WHERE ${own} AND ${holds(sql`filters::text`)}`],
    ['contact_upload_part', sql`DELETE FROM contact_upload_part WHERE ${own}`],
    ['contact_upload', sql`DELETE FROM contact_upload WHERE ${own}`],
    // Last: from here to the commit, the feeds of all accounts wait for what this transaction might add to them.
    ['webhook_published', sql`DELETE FROM webhook_published WHERE ${own} AND ${holds(sql`data::text`)}`],
  ];
}
