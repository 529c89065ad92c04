import { plainArray } from '../../../platform/db/array.ts';
import { type Db, join, one, type Sql, sql } from '../../../platform/db/query.ts';
import type { FieldRow } from '../../../engagement/contacts/fields/sql.ts';
import { bitOf, type Channel, CHANNELS } from '../../../platform/lib/channel.ts';
import { STATUS, type StatusName, describeStatus, nameOfStatus } from '../../../messaging/states.ts';
import { type CellKind, type Column, instant, type Rows } from './cells.ts';

/** Which messages. */
export type MessageFilter = {
  readonly accountId: number;
  /** Ids from the first up to before the second: a range of time. */
  readonly firstId: string;
  readonly endId: string;
  readonly channel?: Channel | undefined;
  readonly status?: StatusName | undefined;
  readonly sender?: string | undefined;
  readonly recipient?: string | undefined;
  readonly campaignId?: number | undefined;
};

/** The status that a message reads (messaging/tracking/status.ts): without a state it is queued. */
const CODE = sql`CASE WHEN m.channel = 'SMS' THEN coalesce(s.status, ${STATUS.ACCEPTED})
  ELSE coalesce(nullif(s.status, ${STATUS.ACCEPTED}), ${STATUS.UNKNOWN}) END`;

/** By code, from 0. */
const ALL_NAMES = Array.from({ length: Math.max(...Object.values(STATUS)) + 1 }, (_, code) => nameOfStatus(code));
const ofCode = (texts: readonly string[]): Sql =>
  sql`(${`{${texts.map((text) => `"${text}"`).join()}}`}::text[])[1 + ${CODE}]`;

const column = (name: string, kind: CellKind, value: Sql): Column => ({ name, kind, value });

/** A record of contract 5, and whence the message came. */
const RECORD: readonly Column[] = [
  column('messageId', 'plain', sql`m.id`),
  column('customerMessageId', 'text', sql`m.client_id`),
  column('source', 'plain', sql`m.source`),
  column('channel', 'plain', sql`m.channel`),
  column('destination', 'phone', sql`m.destination`),
  column('sender', 'phone', sql`m.sender`),
  column('deliveryStatus', 'plain', ofCode(ALL_NAMES)),
  column('deliveryStatusCode', 'number', CODE),
  column('deliveryStatusDescription', 'plain', ofCode(ALL_NAMES.map(describeStatus))),
  column('sendDate', 'plain', instant(sql`coalesce(s.submitted_at, uuid_extract_timestamp(m.id))`)),
  column(
    'deliveryDate',
    'plain',
    instant(sql`CASE WHEN ${CODE} NOT IN (${STATUS.ACCEPTED}, ${STATUS.UNKNOWN}) THEN s.done_at END`),
  ),
  column('parts', 'number', sql`m.parts`),
  column('price', 'number', sql`trim_scale(m.price_micros::numeric / 1000000)`),
  column('campaignId', 'number', sql`m.campaign_id`),
  column('possibleDuplicate', 'plain', sql`coalesce(s.possible_duplicate, false)::text`),
  column('errorCode', 'text', sql`s.error_code`),
  column('errorMessage', 'text', sql`s.error_text`),
];
/** Reports tell besides when a person has read the message. */
const REPORT: readonly Column[] = RECORD.flatMap((entry) =>
  entry.name === 'deliveryDate' ? [entry, column('readDate', 'plain', instant(sql`s.read_at`))] : [entry],
);

/** Messages with what became of them, in the order in which they were accepted. */
export function messageRows(filter: MessageFilter, { reports }: { readonly reports: boolean }): Rows {
  const messages = sql`FROM message m`;
  // The range is named twice so that only its days are read, of either table.
  const states = sql`LEFT JOIN message_state s ON s.account_id = ${filter.accountId} AND s.id = m.id AND ${within(filter, sql`s.id`)}`;
  const where = sql`WHERE ${matching(filter)}`;
  const source = sql`${messages} ${states} ${where}`;
  return {
    columns: reports ? REPORT : RECORD,
    source,
    order: sql`m.id`,
    counted: filter.status === undefined ? sql`${messages} ${where}` : source,
  };
}

const within = ({ firstId, endId }: MessageFilter, id: Sql): Sql =>
  sql`${id} >= ${firstId}::uuid AND ${id} < ${endId}::uuid`;

function matching(filter: MessageFilter): Sql {
  const { channel, status, sender, recipient, campaignId } = filter;
  return join(
    [
      sql`m.account_id = ${filter.accountId}`,
      within(filter, sql`m.id`),
      ...(channel === undefined ? [] : [sql`m.channel = ${channel}`]),
      ...(status === undefined ? [] : [sql`${CODE} = ${STATUS[status]}`]),
      ...(sender === undefined ? [] : [sql`m.sender = ${sender}`]),
      ...(recipient === undefined ? [] : [sql`m.destination = ${recipient}`]),
      ...(campaignId === undefined ? [] : [sql`m.campaign_id = ${campaignId}`]),
    ],
    ' AND ',
  );
}

/** Which contacts: these, those in one of these lists, or all. */
export type ContactChoice = {
  readonly accountId: number;
  readonly contactIds?: readonly number[] | undefined;
  readonly listIds?: readonly number[] | undefined;
};

const channelsIn = (bits: Sql): Sql =>
  sql`concat_ws(' ', ${join(CHANNELS.map((name) => sql`CASE WHEN ${bits} & ${bitOf(name)}::smallint <> 0 THEN ${name} END`))})`;

const CONTACT: readonly Column[] = [
  column('id', 'number', sql`c.id`),
  column('firstName', 'text', sql`c.first_name`),
  column('lastName', 'text', sql`c.last_name`),
  column('fullName', 'text', sql`nullif(c.full_name, '')`),
  column('phoneNumber', 'phone', sql`c.phone_number`),
  column('email', 'text', sql`c.email`),
  column('gender', 'plain', sql`c.gender`),
  column('isValid', 'plain', sql`c.is_valid::text`),
  column('isTest', 'plain', sql`c.is_test::text`),
  column('numberType', 'plain', sql`c.number_type`),
  column('country', 'plain', sql`c.country`),
  column('communicationSupported', 'plain', channelsIn(sql`c.channels`)),
  column('lastContactType', 'plain', sql`a.last_contact_type`),
  column('lastContactDate', 'plain', instant(sql`a.last_contact_date`)),
  column('lastCampaignType', 'plain', sql`a.last_campaign_type`),
  column('optedOut', 'plain', sql`o.channels`),
];
const CONTACT_TIMES: readonly Column[] = [
  column('createdAt', 'plain', instant(sql`c.created_at`)),
  column('updatedAt', 'plain', instant(sql`c.updated_at`)),
];

const customColumn = ({ id, name, type }: FieldRow): Column =>
  column(
    name,
    type === 'text' ? 'text' : type === 'number' ? 'number' : 'plain',
    sql`(c.custom_fields ->> ${String(id)})`,
  );

/** Contacts in the order in which they were made, with a column for each custom field. */
export function contactRows(choice: ContactChoice, fields: readonly FieldRow[]): Rows {
  const { accountId } = choice;
  const where = sql`WHERE ${chosen(choice)}`;
  return {
    columns: [...CONTACT, ...fields.map(customColumn), ...CONTACT_TIMES],
    source: sql`FROM contact c
      LEFT JOIN contact_activity a ON a.account_id = ${accountId} AND a.contact_id = c.id
      LEFT JOIN (SELECT phone_number, string_agg(channel, ' ' ORDER BY channel) AS channels FROM opt_out
                 WHERE account_id = ${accountId} GROUP BY phone_number) AS o ON o.phone_number = c.phone_number
      ${where}`,
    order: sql`c.id`,
    counted: sql`FROM contact c ${where}`,
  };
}

function chosen({ accountId, contactIds, listIds }: ContactChoice): Sql {
  const own = sql`c.account_id = ${accountId}`;
  if (contactIds) return sql`${own} AND c.id = ANY(${plainArray(contactIds)}::bigint[])`;
  if (!listIds) return own;
  return sql`${own} AND EXISTS (SELECT FROM contact_list_member m WHERE m.account_id = ${accountId}
    AND m.contact_id = c.id AND m.list_id = ANY(${plainArray(listIds)}::bigint[]))`;
}

export async function countRows(db: Db, { counted }: Rows): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*)::bigint AS total ${counted}`)).total;
}
