import { contactImport } from '../contacts/import.ts';
import { claimBook, updateContactCount } from '../contacts/limits.ts';
import { removeFromAllLists } from '../contacts/list-members.ts';
import {
  as,
  columns,
  countRows,
  type Db,
  exec,
  many,
  one,
  plainArray,
  raw,
  type Sql,
  sql,
  textArray,
} from '../core/db/query.ts';
import { firstIdAt } from '../core/ids.ts';
import { insertRemovals } from '../core/storage.ts';
import { MINUTE_MS } from '../core/time.ts';
import { exportJob } from '../exports/make.ts';
import {
  findPersonData,
  NO_CLEANING,
  patternOf,
  type PersonAddresses,
  type PersonData,
  type PersonTable,
  tablesOfPerson,
} from '../exports/person-data.ts';
import { claimInboxes } from '../inbox/store.ts';
import { deleteRetries } from '../webhooks/log.ts';
import { claimEvents, type NewFact, publishFacts } from '../webhooks/outbox.ts';
import { deleteChats } from './retention.ts';

/** Rows by table. */
export type Counts = Readonly<Record<string, number>>;

/** What was stored this long before the first look is committed by then. */
const COMMITTED_MS = 10 * MINUTE_MS;

/** Counts the rows of a person by table, as `erasePerson` would, and locks nothing. */
export async function countPerson(db: Db, person: PersonAddresses): Promise<Counts> {
  const found = await findPersonData(db, person);
  const counts: [string, number][] = [];
  for (const { table, where } of tablesOfPerson(found))
    counts.push([table, await countRows(db, sql`FROM ${raw(table)} AS t ${rowsOf(person, where)}`)]);
  return onlySome(counts);
}

/**
 * Erases a person from all tables of an account, in the caller's transaction. Amounts, states and times of messages
 * stay, without number and content. Returns the number of rows by table. Only this file and the retention touch rows of
 * all features: what is erased should be readable in one place, with `tablesOfPerson`.
 *
 * The long looks at all that the account has come before the inbox and the contacts are claimed. The feed and the
 * webhooks come last: from there to the commit, the feeds of all accounts wait for what this transaction might add.
 */
export async function erasePerson(tx: Db, person: PersonAddresses): Promise<Counts> {
  const { accountId } = person;
  const recent = firstIdAt(new Date(Date.now() - COMMITTED_MS));
  const unlogged = await findOldestEvent(tx, { accountId, recent });
  const before = await findPersonData(tx, person);
  const early = await listEvents(tx, before, {});
  const counts: (readonly [string, number])[] = await eraseTables(tx, before, ({ table }) => SCANNED.has(table));
  // A chunk of an import is taken before the book.
  const chunks = await exec(tx, sql`DELETE FROM contact_import_chunk WHERE account_id = ${accountId}`);
  counts.push(['contact_import_chunk', chunks]);
  const ended = await endImports(tx, { accountId });
  await claimInboxes(tx, { accountIds: [accountId] });
  await claimBook(tx, { accountId, to: 'change' });
  const found = joined(before, await findPersonData(tx, person, recent));
  counts.push(...(await eraseTables(tx, found, ({ table }) => !SCANNED.has(table) && !ELSEWHERE.has(table))));
  await claimEvents(tx, { accountId });
  const late = await listEvents(tx, found, { fed: recent, logged: unlogged });
  counts.push(['webhook_outbox', await eraseOutbox(tx, found)]);
  counts.push(['webhook_delivery', await eraseDeliveries(tx, found, [...early.logged, ...late.logged])]);
  await publishFacts(tx, ended);
  counts.push(['webhook_published', await blankFeedRows(tx, found, [...early.fed, ...late.fed])]);
  return onlySome(counts);
}

/** Waits until steps of campaigns that may have read contacts before an erasure, to create recipients, are committed. */
export const awaitCampaignSteps = (tx: Db, { accountId }: Pick<PersonData, 'accountId'>): Promise<number> =>
  exec(
    tx,
    sql`SELECT FROM campaign_run WHERE account_id = ${accountId} AND NOT expanded ORDER BY campaign_id FOR SHARE`,
  );

/** Erases a person from the recipients of campaigns once more, which a campaign may have created during the erasure. */
export async function eraseRecipients(tx: Db, person: PersonAddresses): Promise<void> {
  const found = await findPersonData(tx, person, firstIdAt(new Date()));
  await eraseTables(tx, found, ({ table }) => RECIPIENTS.has(table));
}

/** Erases a person from some of the tables, in their order. */
async function eraseTables(tx: Db, found: PersonData, isChosen: (entry: PersonTable) => boolean) {
  const cleared = clearedColumns(found);
  const counts: (readonly [string, number])[] = [];
  for (const entry of tablesOfPerson(found).filter(isChosen)) {
    const own = HANDLED[entry.table];
    counts.push([entry.table, await (own ? own(tx, found) : eraseRows(tx, found, entry, cleared[entry.table]))]);
  }
  return counts;
}

const onlySome = (counts: readonly (readonly [table: string, rows: number])[]): Counts =>
  Object.fromEntries(counts.filter(([, rows]) => rows > 0));

const rowsOf = ({ accountId }: Pick<PersonData, 'accountId'>, where: Sql): Sql =>
  sql`WHERE t.account_id = ${accountId} AND ${where}`;

/** Returns the condition for the rows of a table. */
function rowsIn(found: PersonData, name: string): Sql {
  const entry = tablesOfPerson(found).find(({ table }) => table === name);
  if (!entry) throw new Error(`${name} is not a table of persons`);
  return rowsOf(found, entry.where);
}

/** Adds what has come while nothing was locked. */
function joined(before: PersonData, since: PersonData): PersonData {
  const both = <T>(one: readonly T[], other: readonly T[]): T[] => [...new Set([...one, ...other])];
  return {
    ...since,
    messageIds: both(before.messageIds, since.messageIds),
    inboundIds: both(before.inboundIds, since.inboundIds),
    contactIds: both(before.contactIds, since.contactIds),
    emails: both(before.emails, since.emails),
  };
}

/** Deletes the rows of a table, or clears those columns of them. */
const eraseRows = (tx: Db, found: PersonData, { table, where }: PersonTable, set: Sql | undefined): Promise<number> =>
  exec(
    tx,
    set
      ? sql`UPDATE ${raw(table)} AS t SET ${set} ${rowsOf(found, where)}`
      : sql`DELETE FROM ${raw(table)} AS t ${rowsOf(found, where)}`,
  );

/** Tables without an index for persons, whose rows need nothing of what is claimed. */
const SCANNED: ReadonlySet<string> = new Set([
  'audit_entry',
  'campaign_fallback',
  'campaign_recipient',
  'sticky_sender',
  'verify_counter',
]);

/** Tables in which a campaign names the recipients that it creates. */
const RECIPIENTS: ReadonlySet<string> = new Set([
  'campaign_batch',
  'campaign_lane',
  'campaign_recipient',
  'campaign_run',
]);

/** Tables whose rows are erased before or after those of the others. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'contact_import_chunk',
  'webhook_outbox',
  'webhook_delivery',
  'webhook_published',
]);

/** Tables whose rows need more than a statement. */
const HANDLED: Readonly<Record<string, (tx: Db, found: PersonData) => Promise<number>>> = {
  contact: eraseContacts,
  contact_list_member: (tx, { accountId, contactIds }) =>
    contactIds.length === 0 ? Promise.resolve(0) : removeFromAllLists(tx, accountId, { ids: contactIds }),
  conversation: (tx, { accountId, chatIds }) =>
    deleteChats(tx, { accountId, chats: sql`SELECT unnest(${textArray(chatIds)}::uuid[])` }),
  media: eraseMedia,
  export: eraseExports,
};

async function eraseContacts(tx: Db, { accountId, contactIds }: PersonData): Promise<number> {
  if (contactIds.length === 0) return 0;
  const gone = await exec(
    tx,
    sql`DELETE FROM contact WHERE account_id = ${accountId} AND id = ANY(${plainArray(contactIds)}::bigint[])`,
  );
  if (gone > 0) await updateContactCount(tx, { accountId, by: -gone });
  return gone;
}

const IMPORT_ENDED =
  'A person was erased from the account meanwhile: rows that were imported before stay, the rest was not imported';

/** Ends the imports that are in progress, whose files may contain the person. Returns the events of it. */
async function endImports(tx: Db, { accountId }: Pick<PersonData, 'accountId'>): Promise<NewFact[]> {
  const ended = await many<{ id: number; created: number; updated: number }>(
    tx,
    sql`UPDATE contact_import SET status = 'FAILED', failure = ${IMPORT_ENDED}, completed_at = now()
        WHERE account_id = ${accountId} AND status IN ('PENDING', 'RUNNING') RETURNING id, created, updated`,
  );
  await contactImport.drop(tx, { accountId, keys: ended.map(({ id }) => String(id)) });
  return ended.map(({ id, ...data }) => ({
    accountId,
    type: 'import.completed',
    about: id,
    data: { importId: id, status: 'FAILED', ...data },
  }));
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

/** Deletes the requests that name the person, and ends all exports of the account. */
async function eraseExports(tx: Db, found: PersonData): Promise<number> {
  const { accountId } = found;
  const ended = await endExports(tx, { accountId });
  return ended + (await exec(tx, sql`DELETE FROM export AS t ${rowsIn(found, 'export')}`));
}

/** Ends the exports of an account, whose files may contain an erased person: they can be made again. */
export async function endExports(tx: Db, { accountId }: Pick<PersonData, 'accountId'>): Promise<number> {
  // Those in progress began before the erasure: a new job ends them. First, as workers take the job before the export.
  const pending = await many<{ id: string }>(
    tx,
    sql`SELECT id FROM export WHERE account_id = ${accountId} AND status = 'PENDING' ORDER BY id`,
  );
  await exportJob.add(tx, ...pending.map(({ id }) => ({ accountId, key: id, payload: { exportId: id } })));
  const gone = await many<{ fileKey: string }>(
    tx,
    sql`WITH ended AS (
          SELECT id, file_key FROM export WHERE account_id = ${accountId} AND file_key IS NOT NULL FOR UPDATE)
        UPDATE export e SET status = 'EXPIRED', expires_at = least(e.expires_at, now()), file_key = NULL FROM ended
        WHERE e.account_id = ${accountId} AND e.id = ended.id RETURNING ended.file_key AS "fileKey"`,
  );
  await insertRemovals(tx, { accountId, keys: gone.map(({ fileKey }) => fileKey), afterSeconds: 0 });
  return gone.length;
}

/**
 * Beginnings of the names of erased recipients, who have or have no message yet: messages are created in the order of
 * the numbers, so these come before and after all of them.
 */
const [MADE, UNMADE] = ['(erased) ', 'erased '];
/** A contact that does not exist: its recipient is skipped, as one is whose contact was deleted. */
const NO_CONTACT = 0;
/** What a repeated bulk request is told about an erased recipient, and a new one as well. */
const ERASED_RESULT = JSON.stringify([null, 403, 'the recipient was erased']);

/** Returns what is cleared in the tables whose rows stay. The rows of all others are deleted. */
function clearedColumns(found: PersonData): Readonly<Record<string, Sql>> {
  const { accountId } = found;
  const forms = sql`ANY(${textArray(found.forms)}::text[])`;
  const bare = textArray(found.bare);
  const written = sql`ANY(${textArray([...found.forms, ...found.bare])}::text[])`;
  const numbers = textArray([...found.forms, ...found.bare].map((form) => `number:${form}`));
  /** The number of a campaign that is next to one of the person: a place in its order. */
  const neighbour = (number: Sql, side: 'before' | 'after'): Sql => sql`coalesce((
    SELECT ${side === 'before' ? sql`max(n.destination)` : sql`min(n.destination)`} FROM campaign_recipient n
    WHERE n.account_id = ${accountId} AND n.campaign_id = t.campaign_id
      AND ${side === 'before' ? sql`n.destination < ${number}` : sql`n.destination > ${number}`}), '')`;
  const stripped = (number: Sql): Sql => sql`regexp_replace(${number}, '[^0-9A-Za-z.]', '', 'g')`;
  // A number without its country code is the end of the whole number; country codes have up to three digits.
  const isTheirs = (number: Sql): Sql => sql`(regexp_replace(${stripped(number)}, '^00', '') = ${written} OR EXISTS (
    SELECT FROM unnest(${bare}::text[]) AS b, ltrim(${stripped(number)}, '0') AS n
    WHERE ${number} !~ '^\\s*(\\+|00)' AND b ~ '^[0-9]+$' AND n <> '' AND right(b, length(n)) = n
      AND length(n) >= length(b) - 3))`;
  return {
    message: sql`destination = '', body = '', content = NULL, udh = NULL, binary_body = NULL, client_id = NULL,
      tlvs = NULL, client_data = NULL`,
    message_state: sql`error_text = NULL, receipt_text = NULL, erased = true`,
    message_part: sql`receipt_text = NULL, erased = true`,
    unknown_outcome: sql`destination = ''`,
    nameless_submit: sql`destination = ''`,
    // The row stays, so that the request is not processed again.
    bulk_request: sql`results = (
      SELECT json_agg(CASE WHEN r->>0 = ANY(${textArray(found.messageIds)}::text[]) THEN ${ERASED_RESULT}::json ELSE r END ORDER BY n)
      FROM json_array_elements(results) WITH ORDINALITY AS e (r, n))`,
    campaign_recipient: sql`(destination, contact_id) = (
      SELECT CASE WHEN count(*) = 0 THEN ${MADE} ELSE ${UNMADE} END || gen_random_uuid(),
        CASE WHEN count(*) > 0 THEN ${NO_CONTACT}::bigint END
      FROM campaign_lane l
      WHERE l.account_id = ${accountId} AND l.campaign_id = t.campaign_id AND l.country = t.country AND NOT l.done
        AND t.destination > l.fed_to)`,
    campaign_lane: sql`fed_to = ${neighbour(sql`t.fed_to`, 'before')}`,
    campaign_run: sql`expanded_to = ${neighbour(sql`t.expanded_to`, 'before')}`,
    campaign_batch: sql`
      first_destination = CASE WHEN first_destination = ${forms}
        THEN ${neighbour(sql`t.first_destination`, 'after')} ELSE first_destination END,
      last_destination = CASE WHEN last_destination = ${forms}
        THEN ${neighbour(sql`t.last_destination`, 'before')} ELSE last_destination END`,
    campaign_fallback: sql`destination = ${MADE} || gen_random_uuid()`,
    campaign: sql`
      destinations = ARRAY(SELECT d FROM unnest(destinations) AS d WHERE NOT ${isTheirs(sql`d`)}),
      (numbers, number_countries, number_channels) = (
        SELECT coalesce(array_agg(n ORDER BY i), '{}'), coalesce(array_agg(c ORDER BY i), '{}'),
          coalesce(array_agg(h ORDER BY i), '{}')
        FROM unnest(numbers, number_countries, number_channels) WITH ORDINALITY AS u (n, c, h, i)
        WHERE NOT n = ${forms})`,
    // A digit, so that it is still JSON.
    campaign_draft: sql`content = regexp_replace(content::text, ${patternOf(found.bare)}, '0', 'g')::jsonb`,
    contact_import: sql`preview = '[]', cleaning = ${NO_CLEANING}::jsonb`,
    audit_entry: sql`subject = CASE WHEN subject = ANY(${numbers}::text[]) THEN 'erased' ELSE subject END, detail = '{}'`,
  };
}

/** The errors of a row of events without those of the person's messages. */
const clearedErrors = ({ messageIds }: PersonData): Sql => sql`ARRAY(
  SELECT CASE WHEN u.m = ANY(${textArray(messageIds)}::uuid[]) THEN NULL ELSE u.e END
  FROM unnest(message_ids, errors) WITH ORDINALITY AS u (m, e, n) ORDER BY u.n)`;

/** Deletes events that are not about messages, and clears the errors in those that are. */
async function eraseOutbox(tx: Db, found: PersonData): Promise<number> {
  const own = rowsIn(found, 'webhook_outbox');
  const cleared = await exec(
    tx,
    sql`UPDATE webhook_outbox AS t SET errors = ${clearedErrors(found)} ${own} AND t.data IS NULL`,
  );
  return cleared + (await exec(tx, sql`DELETE FROM webhook_outbox AS t ${own} AND t.data IS NOT NULL`));
}

/** Finds the first id that an event may have which is not in the log yet. */
const findOldestEvent = async (
  tx: Db,
  { accountId, recent }: { readonly accountId: number; readonly recent: string },
): Promise<string> => {
  const { id } = await one<{ id: string }>(
    tx,
    sql`SELECT coalesce((
          SELECT seed FROM webhook_outbox WHERE account_id = ${accountId} AND seed < ${recent} ORDER BY seed LIMIT 1),
        ${recent}::uuid) AS id`,
  );
  return id;
};

type Events = { readonly logged: readonly string[]; readonly fed: readonly string[] };

/** Lists the events about the person in the log and the rows of the feed, without a lock that others would wait for. */
async function listEvents(
  tx: Db,
  found: PersonData,
  { logged = null, fed = null }: { readonly logged?: string | null; readonly fed?: string | null },
): Promise<Events> {
  const list = async (table: string, fromId: string | null): Promise<string[]> => {
    const from = fromId === null ? sql`` : sql`AND t.id >= ${fromId}`;
    const rows = await many<{ id: string }>(
      tx,
      sql`SELECT DISTINCT id FROM ${raw(table)} AS t ${rowsIn(found, table)} ${from}`,
    );
    return rows.map(({ id }) => id);
  };
  return { logged: await list('webhook_delivery', logged), fed: await list('webhook_published', fed) };
}

const PENDING = columns({
  accountId: as<number>('account_id'),
  endpoint: as<number>('endpoint'),
  id: as<string>('id'),
  messageId: as<string>('message_id'),
});

/** Deletes events from the log, with what would be tried again. */
async function eraseDeliveries(tx: Db, { accountId }: PersonData, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const own = sql`WHERE account_id = ${accountId} AND id = ANY(${textArray(ids)}::uuid[])`;
  const pending = await many(tx, sql`SELECT ${PENDING} FROM webhook_delivery ${own} AND state = 'PENDING'`);
  if (pending.length > 0) await deleteRetries(tx, pending);
  return exec(tx, sql`DELETE FROM webhook_delivery ${own}`);
}

/**
 * Blanks rows of the feed, whose events are left out from then on. The rows stay: a reader goes on from the last one that
 * it has read. Ids of events that are not about messages are replaced, because some are made from the number.
 */
const blankFeedRows = (tx: Db, found: PersonData, ids: readonly string[]): Promise<number> =>
  ids.length === 0
    ? Promise.resolve(0)
    : exec(
        tx,
        sql`UPDATE webhook_published AS t
            SET message_ids = CASE WHEN data IS NULL THEN message_ids ELSE ARRAY[gen_random_uuid()] END,
              errors = ${clearedErrors(found)}, data = NULL
            WHERE t.account_id = ${found.accountId} AND t.id = ANY(${textArray(ids)}::uuid[])`,
      );
