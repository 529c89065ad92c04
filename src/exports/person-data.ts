import { type Static, Type } from 'typebox';
import { findContact } from '../contacts/store.ts';
import type { Actor } from '../core/actor.ts';
import { as, columns, type Db, many, plainArray, type Sql, sql, textArray } from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { isUserId, MAX_USER_ID_LENGTH, NUMBER_FAULTS, personOf, readNumber } from '../core/phone.ts';
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
  /** Values that no stored text of the account may contain: numbers, and the name, email address and texts. */
  readonly traces: readonly string[];
};

const ID = columns({ id: as<string>('id') });

/** Finds the rows of an account about a person. */
export async function findPersonData(tx: Db, { accountId, addresses }: PersonAddresses): Promise<PersonData> {
  const list = async (query: Sql): Promise<string[]> => (await many<{ id: string }>(tx, query)).map(({ id }) => id);
  const forms = await list(
    sql`SELECT DISTINCT f AS id FROM unnest(${textArray(addresses)}::text[]) AS a, unnest(number_forms(a) || a) AS f`,
  );
  const bare = forms.map((form) => form.replace(/^\+/, ''));
  const written = textArray([...forms, ...bare]);
  const messageIds = await list(
    sql`SELECT ${ID} FROM message WHERE account_id = ${accountId} AND destination = ANY(${written}::text[])`,
  );
  const inboundIds = await list(
    sql`SELECT ${ID} FROM inbound_message WHERE account_id = ${accountId} AND source = ANY(${written}::text[])`,
  );
  const persons = textArray(addresses);
  const chatIds = await list(
    sql`SELECT chat_id AS id FROM conversation WHERE account_id = ${accountId} AND person = ANY(${persons}::text[])`,
  );
  const contacts = await many<{ id: number; traces: string[] }>(
    tx,
    sql`SELECT id, array_remove(ARRAY[email, CASE WHEN length(full_name) > 5 THEN full_name END], NULL) AS traces
        FROM contact WHERE account_id = ${accountId} AND person = ANY(${persons}::text[])`,
  );
  return {
    accountId,
    forms,
    bare,
    messageIds,
    inboundIds,
    chatIds,
    contactIds: contacts.map(({ id }) => id),
    traces: [...bare, ...contacts.flatMap(({ traces }) => traces)],
  };
}

/** Lists the tables with data about a person, each with the condition of their rows. */
export function tablesOfPerson(found: PersonData): readonly (readonly [table: string, condition: Sql])[] {
  const forms = sql`ANY(${textArray(found.forms)}::text[])`;
  const written = sql`ANY(${textArray([...found.forms, ...found.bare])}::text[])`;
  const persons = sql`ANY(ARRAY(SELECT person_of(f) FROM unnest(${textArray(found.forms)}::text[]) AS f))`;
  const messages = sql`ANY(${textArray(found.messageIds)}::uuid[])`;
  const inbound = sql`ANY(${textArray(found.inboundIds)}::text[])`;
  const chats = sql`ANY(${textArray(found.chatIds)}::uuid[])`;
  const contacts = sql`ANY(${plainArray(found.contactIds)}::bigint[])`;
  return [
    ['contact', sql`id = ${contacts}`],
    ['contact_list_member', sql`contact_id = ${contacts}`],
    ['contact_activity', sql`contact_id = ${contacts}`],
    ['person_alias', sql`(alias = ${persons} OR person = ${persons})`],
    ['consent', sql`person = ${persons}`],
    ['consent_change', sql`person = ${persons}`],
    ['opt_in', sql`person = ${persons}`],
    ['suspected_opt_out', sql`person = ${persons}`],
    ['message', sql`id = ${messages}`],
    ['message_state', sql`id = ${messages}`],
    ['message_event', sql`message_id = ${messages}`],
    ['inbound_message', sql`source = ${written}`],
    ['media', sql`media_key = ${inbound}`],
    ['conversation', sql`chat_id = ${chats}`],
    ['conversation_label', sql`chat_id = ${chats}`],
    ['inbox_message', sql`chat_id = ${chats}`],
    ['inbox_note', sql`chat_id = ${chats}`],
    ['campaign_recipient', sql`destination = ${forms}`],
    ['sticky_sender', sql`destination = ${forms}`],
    ['marketing_week', sql`person = ${persons}`],
    ['keyword_count', sql`person = ${persons}`],
    ['verification', sql`person = ${persons}`],
    ['verify_decision', sql`number = ${written}`],
    ['verify_number', sql`person = ${persons}`],
  ];
}
