import { type Static, Type } from 'typebox';
import { findContact } from '../contacts/store.ts';
import type { Actor } from '../core/actor.ts';
import { as, columns, type Db, many, plainArray, type Sql, sql, textArray } from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { callingCodeOf, isUserId, MAX_USER_ID_LENGTH, NUMBER_FAULTS, personOf, readNumber } from '../core/phone.ts';
import { id as idSchema } from '../core/schema.ts';

/** A person in a request: exactly one of the fields. */
export const PersonIn = Type.Object({
  to: Type.Optional(
    Type.String({ maxLength: MAX_USER_ID_LENGTH, description: 'The number with its country code, or a user ID.' }),
  ),
  contactId: Type.Optional(idSchema()),
});

/** Returns all addresses of the named person. Errors: 400, or 404 for a contact that does not exist. */
export async function addressesOf(
  tx: Db,
  { accountId, numberRules }: Actor,
  { to, contactId }: Static<typeof PersonIn>,
): Promise<string[]> {
  if ((to === undefined) === (contactId === undefined))
    throw invalidFields(['to', 'contactId'].map((field) => ({ field, message: 'exactly one of them is required' })));
  const named = to ?? (await phoneNumberOf(tx, accountId, contactId ?? 0));
  const read = isUserId(named) ? { e164: named } : readNumber(named, numberRules);
  if ('fault' in read) throw invalidFields([{ field: 'to', message: NUMBER_FAULTS[read.fault] }]);
  const person = personOf(read.e164);
  const others = await many<{ other: string }>(
    tx,
    sql`SELECT o AS other FROM other_addresses(${accountId}, ${person}) AS o`,
  );
  return [person, ...others.map(({ other }) => other)];
}

async function phoneNumberOf(tx: Db, accountId: number, contactId: number): Promise<string> {
  const contact = await findContact(tx, { accountId, id: contactId });
  if (!contact) throw new AppError('not_found');
  if (contact.phoneNumber === null)
    throw invalidFields([{ field: 'contactId', message: 'has no number: delete the contact instead' }]);
  return contact.phoneNumber;
}

/** A person with all their addresses: numbers in E.164 and user ids. */
export type PersonAddresses = { readonly accountId: number; readonly addresses: readonly string[] };

/** Keys of the rows about a person. */
export type PersonData = {
  readonly accountId: number;
  /** All spellings of the numbers with a plus, and the user ids. */
  readonly forms: readonly string[];
  /** The same without a plus, as carriers write them. */
  readonly bare: readonly string[];
  readonly messageIds: readonly string[];
  readonly inboundIds: readonly string[];
  readonly chatIds: readonly string[];
  readonly contactIds: readonly number[];
  readonly verificationIds: readonly string[];
  /** In lower case. */
  readonly emails: readonly string[];
};

const ID = columns({ id: as<string>('id') });
/** An id that is smaller than all others. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Finds the rows of an account about a person. It reads all messages of the account from the id `fromId` on, which takes
 * seconds for each million.
 */
export async function findPersonData(
  tx: Db,
  { accountId, addresses }: PersonAddresses,
  fromId: string = FIRST_ID,
): Promise<PersonData> {
  const list = async (query: Sql): Promise<string[]> => (await many<{ id: string }>(tx, query)).map(({ id }) => id);
  const forms = await list(
    sql`SELECT DISTINCT f AS id FROM unnest(${textArray(addresses)}::text[]) AS a, unnest(number_forms(a) || a) AS f`,
  );
  const bare = forms.map((form) => form.replace(/^\+/, ''));
  const written = textArray([...forms, ...bare]);
  const messageIds = await list(
    sql`SELECT ${ID} FROM message
        WHERE account_id = ${accountId} AND id >= ${fromId} AND destination = ANY(${written}::text[])`,
  );
  const inboundIds = await list(
    sql`SELECT ${ID} FROM inbound_message
        WHERE account_id = ${accountId} AND id >= ${fromId} AND source = ANY(${written}::text[])`,
  );
  const persons = textArray(addresses);
  const chatIds = await list(
    sql`SELECT chat_id AS id FROM conversation WHERE account_id = ${accountId} AND person = ANY(${persons}::text[])`,
  );
  const verificationIds = await list(
    sql`SELECT ${ID} FROM verification WHERE account_id = ${accountId} AND person = ANY(${persons}::text[])`,
  );
  const contacts = await many<{ id: number; email: string | null }>(
    tx,
    sql`SELECT id, lower(email) AS email FROM contact WHERE account_id = ${accountId} AND person = ANY(${persons}::text[])`,
  );
  return {
    accountId,
    forms,
    bare,
    messageIds,
    inboundIds,
    chatIds,
    contactIds: contacts.map(({ id }) => id),
    verificationIds,
    emails: contacts.flatMap(({ email }) => email ?? []),
  };
}

/** A table with rows about persons. */
export type PersonTable = {
  readonly table: string;
  /** The condition for the person's rows in the account. */
  readonly where: Sql;
  /** True if the person gets a copy of the rows, and not only of others that say the same. */
  readonly isShown: boolean;
  /** The expression for an address of a row's person, by which a restored database finds persons; null: others do. */
  readonly address: Sql | null;
};

type More = Partial<Pick<PersonTable, 'isShown' | 'address'>>;
const rowsIn = (table: string, where: Sql, { isShown = false, address = null }: More = {}): PersonTable => ({
  table,
  where,
  isShown,
  address,
});
/** A table that is copied to the person. */
const shown = (table: string, where: Sql, address: Sql | null = null): PersonTable =>
  rowsIn(table, where, { isShown: true, address });

/**
 * Lists the tables with rows about a person, in an order in which no condition depends on the rows of an earlier table.
 * Tables of all accounts, such as receipts that no message matches yet, are left to their own ends: an account must
 * neither delete what may be another's nor learn from a count that another one knows the number.
 *
 * Rows are found by addresses and ids in their fields, never by words in a text: people choose their names, and one such
 * as "channel" occurs in every event.
 */
export function tablesOfPerson(found: PersonData): readonly PersonTable[] {
  const texts = (values: readonly (string | number)[]): Sql => sql`ANY(${textArray(values.map(String))}::text[])`;
  const ids = (values: readonly string[]): Sql => sql`ANY(${textArray(values)}::uuid[])`;
  const forms = texts(found.forms);
  const written = texts([...found.forms, ...found.bare]);
  const persons = sql`ANY(ARRAY(SELECT person_of(f) FROM unnest(${textArray(found.forms)}::text[]) AS f))`;
  const messages = ids(found.messageIds);
  const all = ids([...found.messageIds, ...found.inboundIds]);
  const inbound = texts(found.inboundIds);
  const chats = ids(found.chatIds);
  const contacts = sql`ANY(${plainArray(found.contactIds)}::bigint[])`;
  const emails = texts(found.emails);
  const verifications = ids(found.verificationIds);
  // Several contacts may have one email address, such as a family: of these, an event is about the one that it names.
  const isTold = sql`(data->>'phoneNumber' = ${written} OR (data->>'contactId' IS NULL AND lower(data->>'email') = ${emails})
    OR data->>'contactId' = ${texts(found.contactIds)} OR data->>'chatId' = ${texts(found.chatIds)}
    OR data->>'messageId' = ${texts([...found.messageIds, ...found.inboundIds])}
    OR data->>'verificationId' = ${texts(found.verificationIds)})`;
  const hasError = sql`(array_remove(errors, NULL) <> '{}' AND EXISTS (SELECT FROM unnest(message_ids) AS m WHERE m = ${messages}))`;
  const holds = (column: Sql): Sql =>
    sql`EXISTS (SELECT FROM jsonb_path_query(${column}, 'strict $.** ? (@.type() == "string")') AS v
        WHERE v #>> '{}' = ${written} OR lower(v #>> '{}') = ${emails})`;
  const [person, destination, number] = [sql`person`, sql`destination`, sql`number`];
  return [
    shown('contact_list_member', sql`contact_id = ${contacts}`),
    shown('contact', sql`id = ${contacts}`, person),
    shown('contact_activity', sql`contact_id = ${contacts}`),
    rowsIn('contact_import_chunk', sql`true`),
    rowsIn('contact_import_reject', sql`true`),
    rowsIn('contact_import', sql`(preview <> '[]' OR cleaning <> ${NO_CLEANING}::jsonb)`),
    rowsIn('contact_upload_part', sql`true`),
    rowsIn('contact_upload', sql`true`),
    shown('consent', sql`person = ${persons}`, person),
    shown('consent_change', sql`person = ${persons}`, person),
    rowsIn('consent_answer', sql`person = ${persons}`, { address: person }),
    shown('opt_in', sql`person = ${persons}`, person),
    shown('suspected_opt_out', sql`person = ${persons}`, person),
    shown('message', sql`id = ${messages}`, destination),
    shown('message_state', sql`id = ${messages}`),
    shown('message_event', sql`message_id = ${messages}`),
    rowsIn('message_part', sql`message_id = ${messages}`),
    rowsIn('message_fallback', sql`message_id = ${messages}`),
    rowsIn('client_message_id', sql`message_id = ${messages}`),
    rowsIn('unknown_outcome', sql`message_id = ${messages}`),
    rowsIn('nameless_submit', sql`message_id = ${messages}`),
    rowsIn('smpp_receipt', sql`message_id = ${messages}`),
    rowsIn('smpp_outbox', sql`message_id = ${all}`),
    rowsIn(
      'bulk_request',
      sql`EXISTS (SELECT FROM json_array_elements(results) AS r WHERE r->>0 = ${texts(found.messageIds)})`,
    ),
    shown('inbound_message', sql`source = ${written}`, sql`source`),
    shown('media', sql`media_key = ${inbound}`),
    rowsIn('inbox_watch', sql`chat_id = ${chats}`),
    rowsIn('inbox_event', sql`chat_id = ${chats}`),
    shown('conversation', sql`chat_id = ${chats}`, person),
    shown('conversation_label', sql`chat_id = ${chats}`),
    shown('inbox_message', sql`chat_id = ${chats}`),
    shown('inbox_note', sql`chat_id = ${chats}`),
    shown('campaign_recipient', sql`destination = ${forms}`, destination),
    rowsIn('campaign_lane', sql`fed_to = ${forms}`),
    rowsIn('campaign_run', sql`expanded_to = ${forms}`),
    rowsIn('campaign_batch', sql`(first_destination = ${forms} OR last_destination = ${forms})`),
    rowsIn('campaign_fallback', sql`destination = ${forms}`, { address: destination }),
    rowsIn('campaign', sql`numbers && ${textArray(found.forms)}::text[]`, { address: sql`unnest(numbers)` }),
    rowsIn('campaign_draft', sql`content::text ~ ${patternOf(found.bare)}`),
    shown('sticky_sender', sql`destination = ${forms}`, destination),
    shown('marketing_week', sql`person = ${persons}`, person),
    shown('keyword_count', sql`person = ${persons}`, person),
    rowsIn('verification_code', sql`verification_id = ${verifications}`),
    rowsIn(
      'verification_message',
      sql`(verification_id = ${verifications} OR verification_id IN (
            SELECT id FROM verify_decision WHERE account_id = ${found.accountId} AND number = ${written}))`,
    ),
    shown('verification', sql`person = ${persons}`, person),
    shown('verify_decision', sql`number = ${written}`, number),
    shown('verify_number', sql`person = ${persons}`, person),
    rowsIn('verify_counter', sql`key = ${written}`),
    rowsIn(
      'job',
      sql`(payload->>'chatId' = ${texts(found.chatIds)} OR payload->>'inboundId' = ${inbound} OR payload->>'id' = ${inbound}
           OR payload->'sign'->>'destination' = ${written})`,
    ),
    rowsIn(
      'audit_entry',
      sql`(subject = ANY(ARRAY(SELECT 'number:' || n FROM unnest(${textArray([...found.forms, ...found.bare])}::text[]) AS n)) OR ${holds(sql`detail`)})`,
    ),
    rowsIn(
      'export',
      sql`(file_key IS NOT NULL OR filters->>'recipient' = ${written} OR ${holds(sql`filters->'addresses'`)})`,
    ),
    shown('person_alias', sql`(alias = ${persons} OR person = ${persons})`, sql`unnest(ARRAY[alias, person])`),
    rowsIn('webhook_outbox', sql`(${isTold} OR ${hasError})`),
    rowsIn('webhook_delivery', sql`(message_id = ${all} OR ${isTold})`),
    rowsIn('webhook_published', sql`(${isTold} OR ${hasError})`),
  ];
}

/** The report of an import that cleans nothing. */
export const NO_CLEANING = '{"groups": [], "changes": []}';

/**
 * Returns a regular expression of PostgreSQL that matches a number as people group it, with or without its country code;
 * nothing if there is none. Without the code it is a number only if no other digits are next to it.
 */
export function patternOf(bare: readonly string[]): string {
  const digits = bare.filter((form) => /^\d+$/.test(form));
  if (digits.length === 0) return '^(?=a)b';
  const gap = '[ .()/-]*';
  const oneOf = (numbers: readonly string[]): string => `(${numbers.map((n) => n.split('').join(gap)).join('|')})`;
  const national = digits.map((form) => form.slice(callingCodeOf(form)?.length ?? 0));
  return (
    String.raw`(?<!\d)((\+|00)${gap})?${oneOf(digits)}(?!\d)` +
    String.raw`|(?<![+\d]${gap})0?${gap}${oneOf(national)}(?!${gap}\d)`
  );
}
