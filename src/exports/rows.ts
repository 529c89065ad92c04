import { DAY_MS } from '../core/time.ts';
import pg from 'pg';
import { FAILURES } from '../campaigns/recipients.ts';
import { findCampaign } from '../campaigns/store.ts';
import {
  byField,
  CONTACT_FIELDS,
  columnOf,
  type FieldWith,
  fieldsWith,
  STORED_FIELDS,
  type StoredField,
} from '../contacts/contact-fields.ts';
import { type FieldRow, listFields } from '../contacts/fields.ts';
import { bitOf, CHANNELS, type Channel } from '../core/channels.ts';
import { E164, FORMULA_START, SEPARATOR_FIRST } from '../core/csv.ts';
import { type Db, join, one, plainArray, raw, type Sql, sql, timeOf } from '../core/db/query.ts';
import { describeStatus, nameOfStatus, STATUS, type StatusName } from '../core/message-state.ts';
import { listInboundFiles, type MediaLinks } from '../media/store.ts';
import { showsAccepted } from '../messages/status.ts';
import { idRangeOf } from '../stats/history.ts';
import { findPersonData, type PersonAddresses, tablesOfPerson } from './person-data.ts';
import type { ExportFormat, ExportRequest, ReportFilters } from './store.ts';

/** Content of a column. `phone`: a phone number, or a name instead of it. `plain`: text that this program wrote. */
type CellKind = 'text' | 'phone' | 'number' | 'plain';

export type Column = { readonly name: string; readonly kind: CellKind; readonly value: Sql };

/** The query of a file: its columns and its rows. */
export type RowQuery = {
  readonly columns: readonly Column[];
  readonly source: Sql;
  readonly order: Sql;
  /** FROM and WHERE for the same number of rows as `source`, cheaper where possible. */
  readonly countSource: Sql;
};

const SEPARATOR = String.raw`[;|\t\r\n]`;
const MARKED = String.raw`\1'\2`;
const MARKED_FIRST = String.raw`'\1`;

/**
 * Puts an apostrophe before a text that a spreadsheet would take for a formula, as `csvLine` does. Nearly all texts
 * begin with a letter or a digit and have no separator, which costs a fraction of the whole expression to find out.
 */
const escapeFormula = (value: Sql): Sql => sql`CASE
  WHEN (ascii(${value}) BETWEEN 65 AND 122 OR ascii(${value}) BETWEEN 48 AND 57) AND ${value} !~ ${SEPARATOR} THEN ${value}
  ELSE regexp_replace(regexp_replace(${value}, ${FORMULA_START}, ${MARKED}, 'g'), ${SEPARATOR_FIRST}, ${MARKED_FIRST}) END`;

/** Formulas are escaped in CSV only: the cells of a workbook have types. */
function cellOf({ kind, value }: Column, format: ExportFormat): Sql {
  if (format === 'xlsx' || kind === 'number' || kind === 'plain') return value;
  if (kind === 'text') return escapeFormula(value);
  return sql`CASE WHEN ${value} ~ ${E164} THEN ${value} ELSE ${escapeFormula(value)} END`;
}

/** Builds the statement whose rows are those of a file in the given format. */
export function selectRows({ columns, source, order }: RowQuery, format: ExportFormat): Sql {
  const cells = columns.map((column) => sql`${cellOf(column, format)} AS ${raw(pg.escapeIdentifier(column.name))}`);
  return sql`SELECT ${join(cells)} ${source} ORDER BY ${order}`;
}

/** Formats an instant as in responses: ISO 8601 in UTC, to the millisecond. */
const toIsoText = (value: Sql): Sql => sql`to_char(${value} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Builds the query for the rows of an export. A campaign that has been deleted since has no rows. */
export async function planRows(
  db: Db,
  accountId: number,
  request: ExportRequest,
  { now, mediaLinks }: { readonly now: Date; readonly mediaLinks: MediaLinks },
): Promise<RowQuery> {
  if (request.type === 'CONTACTS')
    return contactRows({ accountId, ...request.filters }, await listFields(db, { accountId }));
  if (request.type === 'DELIVERY_REPORTS')
    return messageRows({ accountId, ...(await spanOf(db, accountId, request.filters, now)) }, { reports: true });
  if (request.type === 'OPT_OUTS') return optOutRows(accountId);
  if (request.type === 'PERSON') return personRows(db, { accountId, ...request.filters }, mediaLinks, now);
  const { startDateTime, endDateTime, ...others } = request.filters;
  const span = idRangeOf(new Date(startDateTime), new Date(endDateTime));
  return messageRows({ accountId, ...span, ...others }, { reports: false });
}

async function spanOf(db: Db, accountId: number, filters: ReportFilters, now: Date) {
  if (!('campaignId' in filters)) return idRangeOf(new Date(filters.startDateTime), new Date(filters.endDateTime));
  const { campaignId, notReached } = filters;
  const campaign = await findCampaign(db, { accountId, id: campaignId });
  // A day more on both sides, since each machine that creates ids has its own clock.
  const from = new Date((campaign?.createdAt ?? now).getTime() - DAY_MS);
  return { campaignId, notReached, ...idRangeOf(from, new Date((campaign?.completedAt ?? now).getTime() + DAY_MS)) };
}

/** The opt-outs of an account, with or without a contact, in the order of the numbers. */
function optOutRows(accountId: number): RowQuery {
  const source = sql`FROM consent c WHERE c.account_id = ${accountId} AND c.state = 'OPTED_OUT'`;
  return {
    columns: [
      column('to', 'phone', sql`c.phone_number`),
      column('channel', 'plain', sql`c.channel`),
      column('purpose', 'plain', sql`c.purpose`),
      column('sender', 'text', sql`c.sender`),
      column('source', 'plain', sql`c.source`),
      column('since', 'plain', toIsoText(sql`c.since`)),
    ],
    source,
    order: sql`c.person, c.channel, c.purpose, c.sender`,
    countSource: source,
  };
}

/** Columns that say nothing about a person: keys, secrets, and how and by whom something was processed. */
const INTERNAL = [
  'account_id',
  'api_key_id',
  'assignee_id',
  'carrier_id',
  'code_hash',
  'connection_id',
  'file_key',
  'link_version',
  'micros',
  'octets',
  'price_micros',
  'reserve_micros',
  'route_reason',
  'smpp_credential_id',
  'thumbnail_key',
  'token_hash',
  'user_id',
];

/** Everything that an account holds about a person: each row of a table as JSON, of a file with its link. */
async function personRows(db: Db, person: PersonAddresses, mediaLinks: MediaLinks, now: Date): Promise<RowQuery> {
  const found = await findPersonData(db, person);
  const { accountId } = found;
  const files = await listInboundFiles(db, { accountId, mediaKeys: found.inboundIds });
  const urls = JSON.stringify(Object.fromEntries(files.map((file) => [file.id, mediaLinks(file, now).url])));
  const tables = tablesOfPerson(found).filter(({ isShown }) => isShown);
  const parts = tables.map(
    ({ table, where }, place) => sql`
      SELECT ${place}::int AS place, ${table}::text AS kind,
        (to_jsonb(t) - ${plainArray(INTERNAL)}::text[]
          ${table === 'media' ? sql`|| jsonb_build_object('url', ${urls}::jsonb -> id::text)` : sql``})::text AS data
      FROM ${raw(table)} AS t WHERE account_id = ${accountId} AND ${where}`,
  );
  const source = sql`FROM (${join(parts, ' UNION ALL ')}) AS p`;
  return {
    columns: [column('table', 'plain', sql`p.kind`), column('data', 'plain', sql`p.data`)],
    source,
    order: sql`p.place, p.data`,
    countSource: source,
  };
}

/** Filter for messages; omitted fields do not restrict. */
type MessageFilter = {
  readonly accountId: number;
  /** The first id of the time range. */
  readonly firstId: string;
  /** The end of the time range, exclusive. */
  readonly endId: string;
  readonly channel?: Channel | undefined;
  readonly status?: StatusName | undefined;
  readonly sender?: string | undefined;
  readonly recipient?: string | undefined;
  readonly campaignId?: number | undefined;
  /** Only the last message of each recipient whom the campaign did not reach. */
  readonly notReached?: boolean | undefined;
};

/** The status code that clients see (messaging/tracking/status.ts). A message without a state is queued. */
const CODE = sql`CASE WHEN ${showsAccepted(sql`m.channel`)} THEN coalesce(s.status, ${STATUS.ACCEPTED})
  ELSE coalesce(nullif(s.status, ${STATUS.ACCEPTED}), ${STATUS.UNKNOWN}) END`;

/** The names of the status codes from 0 to the highest, by code. */
const NAMES = Array.from({ length: Math.max(...Object.values(STATUS)) + 1 }, (_, code) => nameOfStatus(code));
const textOfCode = (texts: readonly string[]): Sql =>
  sql`(${`{${texts.map((text) => `"${text}"`).join()}}`}::text[])[1 + ${CODE}]`;

const column = (name: string, kind: CellKind, value: Sql): Column => ({ name, kind, value });

const RECORD: readonly Column[] = [
  column('messageId', 'plain', sql`m.id`),
  column('customerMessageId', 'text', sql`m.client_id`),
  column('source', 'plain', sql`m.source`),
  column('channel', 'plain', sql`m.channel`),
  column('destination', 'phone', sql`m.destination`),
  column('sender', 'phone', sql`m.sender`),
  column('deliveryStatus', 'plain', textOfCode(NAMES)),
  column('deliveryStatusCode', 'number', CODE),
  column('deliveryStatusDescription', 'plain', textOfCode(NAMES.map(describeStatus))),
  column('sendDate', 'plain', toIsoText(sql`coalesce(s.submitted_at, ${timeOf(sql`m.id`)})`)),
  column(
    'deliveryDate',
    'plain',
    toIsoText(sql`CASE WHEN ${CODE} NOT IN (${STATUS.ACCEPTED}, ${STATUS.UNKNOWN}) THEN s.done_at END`),
  ),
  column('parts', 'number', sql`m.parts`),
  column(
    'price',
    'number',
    sql`CASE WHEN s.credit_returned THEN 0 ELSE trim_scale(m.price_micros::numeric / 1000000) END`,
  ),
  column('campaignId', 'number', sql`m.campaign_id`),
  column('purpose', 'plain', sql`m.purpose`),
  column('possibleDuplicate', 'plain', sql`coalesce(s.possible_duplicate, false)::text`),
  column('errorCode', 'text', sql`s.error_code`),
  column('errorMessage', 'text', sql`s.error_text`),
];
/** Delivery reports also have the time at which the person read the message. */
const REPORT: readonly Column[] = RECORD.flatMap((entry) =>
  entry.name === 'deliveryDate' ? [entry, column('readDate', 'plain', toIsoText(sql`s.read_at`))] : [entry],
);

/** Builds the query for messages with their states, in the order in which they were accepted. */
export function messageRows(filter: MessageFilter, { reports }: { readonly reports: boolean }): RowQuery {
  const messages = sql`FROM message m`;
  // The range is given for both tables, so that only the partitions of its days are read.
  const states = sql`LEFT JOIN message_state s ON s.account_id = ${filter.accountId} AND s.id = m.id AND ${within(filter, sql`s.id`)}`;
  const where = sql`WHERE ${matching(filter)}`;
  const source = sql`${messages} ${states} ${where}`;
  return {
    columns: reports ? REPORT : RECORD,
    source,
    order: sql`m.id`,
    countSource: filter.status === undefined && !filter.notReached ? sql`${messages} ${where}` : source,
  };
}

const within = ({ firstId, endId }: MessageFilter, id: Sql): Sql =>
  sql`${id} >= ${firstId}::uuid AND ${id} < ${endId}::uuid`;

function matching(filter: MessageFilter): Sql {
  const { channel, status, sender, recipient, campaignId, notReached } = filter;
  return join(
    [
      sql`m.account_id = ${filter.accountId}`,
      within(filter, sql`m.id`),
      ...(channel === undefined ? [] : [sql`m.channel = ${channel}`]),
      ...(status === undefined ? [] : [sql`${CODE} = ${STATUS[status]}`]),
      ...(sender === undefined ? [] : [sql`m.sender = ${sender}`]),
      ...(recipient === undefined ? [] : [sql`m.destination = ${recipient}`]),
      ...(campaignId === undefined ? [] : [sql`m.campaign_id = ${campaignId}`]),
      ...(notReached ? [sql`${CODE} = ANY(${plainArray(FAILED)}::smallint[])`, sql`NOT ${hasBetter(filter)}`] : []),
    ],
    ' AND ',
  );
}

const FAILED = FAILURES.map((status) => STATUS[status]);

/** True if the recipient of message `m` got another message of its campaign, later or delivered. */
const hasBetter = (filter: MessageFilter): Sql => sql`EXISTS (
  SELECT FROM message o
  LEFT JOIN message_state os ON os.account_id = ${filter.accountId} AND os.id = o.id AND ${within(filter, sql`os.id`)}
  WHERE o.account_id = ${filter.accountId} AND ${within(filter, sql`o.id`)} AND o.campaign_id = ${filter.campaignId}
    AND o.destination = m.destination AND (o.id > m.id OR os.status = ${STATUS.DELIVERED}))`;

/** Selects contacts: those with these ids, those in any of these lists, or all. */
type ContactChoice = {
  readonly accountId: number;
  readonly contactIds?: readonly number[] | undefined;
  readonly listIds?: readonly number[] | undefined;
};

const channelNames = (bits: Sql): Sql =>
  sql`concat_ws(' ', ${join(CHANNELS.map((name) => sql`CASE WHEN ${bits} & ${bitOf(name)}::smallint <> 0 THEN ${name} END`))})`;

const VALUES: Readonly<Record<FieldWith<'cell'>, Sql>> = {
  ...byField<Record<StoredField, Sql>>(STORED_FIELDS, (name) => sql`c.${columnOf(name)}::text`),
  id: sql`c.id`,
  fullName: sql`nullif(c.full_name, '')`,
  communicationSupported: channelNames(sql`c.channels & c.allowed_channels`),
  lastContactType: sql`a.last_contact_type`,
  lastContactDate: toIsoText(sql`a.last_contact_date`),
  lastCampaignType: sql`a.last_campaign_type`,
  optedOut: sql`o.channels`,
};
const CONTACT = fieldsWith('cell').map((name) => column(name, CONTACT_FIELDS[name].cell, VALUES[name]));
const CONTACT_TIMES: readonly Column[] = [
  column('createdAt', 'plain', toIsoText(sql`c.created_at`)),
  column('updatedAt', 'plain', toIsoText(sql`c.updated_at`)),
];

const customColumn = ({ id, name, type }: FieldRow): Column =>
  column(
    name,
    type === 'text' ? 'text' : type === 'number' ? 'number' : 'plain',
    sql`(c.custom_fields ->> ${String(id)})`,
  );

/** Builds the query for contacts in the order in which they were created, with a column for each custom field. */
function contactRows(choice: ContactChoice, fields: readonly FieldRow[]): RowQuery {
  const { accountId } = choice;
  const where = sql`WHERE ${chosen(choice)}`;
  return {
    columns: [...CONTACT, ...fields.map(customColumn), ...CONTACT_TIMES],
    source: sql`FROM contact c
      LEFT JOIN contact_activity a ON a.account_id = ${accountId} AND a.contact_id = c.id
      LEFT JOIN (SELECT person, string_agg(channel, ' ' ORDER BY channel) AS channels FROM opt_out
                 WHERE account_id = ${accountId} GROUP BY person) AS o ON o.person = c.person
      ${where}`,
    order: sql`c.id`,
    countSource: sql`FROM contact c ${where}`,
  };
}

function chosen({ accountId, contactIds, listIds }: ContactChoice): Sql {
  const own = sql`c.account_id = ${accountId}`;
  if (contactIds) return sql`${own} AND c.id = ANY(${plainArray(contactIds)}::bigint[])`;
  if (!listIds) return own;
  return sql`${own} AND EXISTS (SELECT FROM contact_list_member m WHERE m.account_id = ${accountId}
    AND m.contact_id = c.id AND m.list_id = ANY(${plainArray(listIds)}::bigint[]))`;
}

/** Counts the rows of an export before it is written. */
export async function countRows(db: Db, { countSource }: RowQuery): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*)::bigint AS total ${countSource}`)).total;
}
