import { type Static, Type } from 'typebox';
import { recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import { mapInSlices } from '../core/background.ts';
import { CHANNEL, CHANNELS, type Channel, PURPOSES } from '../core/channels.ts';
import { as, columns, type Db, join, many, type RowOf, sql, textArray } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { type FieldError, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import {
  DEFAULT_NUMBER_RULES,
  isUserId,
  MAX_USER_ID_LENGTH,
  NUMBER_FAULTS,
  type NumberRules,
  personOf,
  readNumber,
} from '../core/phone.ts';
import { channelName, instant, knownFieldsOf, orNull } from '../core/schema.ts';
import {
  type ConsentChange,
  type ConsentPurpose,
  type ConsentSource,
  type ConsentState,
  changeConsent,
  senderKey,
} from './consent.ts';
import { createPersonHash, deleteErased, type HashOfPerson } from './erased.ts';

const PG = '/api/partner-gateway/v1';
const tags = ['Contacts'];
const onRequest = requireScope('contacts');

/** The most records in one request. */
const MAX_CONSENTS = 5000;
/** The most records of a person on a channel: every send to them reads all, in one statement with those of others. */
const MAX_RECORDS = 100;
/** The most changes of a person that are shown. */
const MAX_HISTORY = 100;

const To = Type.String({
  minLength: 1,
  maxLength: MAX_USER_ID_LENGTH,
  description: 'The number with its country code; on WhatsApp also a user ID.',
});
const purposeOrAll = Type.Enum(['*', ...PURPOSES], { type: 'string', description: '`*`: all messages.' });
const Sender = Type.String({ maxLength: 64, description: 'The sender to which it applies. `*`: every one.' });
const STATES = ['OPTED_OUT', 'OPTED_IN', 'PENDING'] as const;

const Proof = Type.Object(
  {
    text: Type.Optional(Type.String({ maxLength: 2000, description: 'The text to which the person agreed.' })),
    url: Type.Optional(Type.String({ maxLength: 2048 })),
    ip: Type.Optional(Type.String({ maxLength: 45 })),
    at: Type.Optional(instant('Time of the choice; not in the future.')),
    formId: Type.Optional(Type.String({ maxLength: 200 })),
  },
  { description: 'What shows that the person made this choice.' },
);

const ConsentIn = Type.Object({
  to: To,
  channel: Type.Enum(['*', ...CHANNELS], { type: 'string', description: '`*`: every channel.' }),
  purpose: purposeOrAll,
  sender: Type.Optional(Sender),
  state: Type.Enum(['OPTED_OUT', 'OPTED_IN', 'UNKNOWN'], {
    type: 'string',
    description: 'UNKNOWN removes what is known. An OPTED_OUT that applies to a message beats every OPTED_IN.',
  }),
  proof: Type.Optional(Proof),
});
const ConsentsIn = Type.Object({ consents: Type.Array(ConsentIn, { minItems: 1, maxItems: MAX_CONSENTS }) });

/** The fields of a record about a person. */
export const recordFields = {
  channel: channelName(),
  purpose: purposeOrAll,
  sender: Sender,
  state: Type.Enum([...STATES, 'UNKNOWN'], { type: 'string' }),
  source: Type.Enum(['STOP', 'START', 'NETWORK', 'API', 'OPERATOR', 'IMPORT', 'SUSPECTED', 'PAGE', 'ERASURE'], {
    type: 'string',
    description:
      'A word from the handset, the button of the network, this API, the operator, a file, a wish in other words that ' +
      'was confirmed, a page, or an erasure.',
  }),
  since: instant(),
  proof: orNull(Type.Record(Type.String(), Type.Unknown())),
};
const ConsentsOut = Type.Object({
  to: Type.String(),
  records: Type.Array(Type.Object(recordFields), { description: 'What is known now. No record: nothing is known.' }),
  history: Type.Array(Type.Object(recordFields), { description: `The newest ${MAX_HISTORY} changes, newest first.` }),
});

const OptOutOut = Type.Object({
  to: Type.String({ description: 'The number in E.164, or a user ID.' }),
  channel: recordFields.channel,
  purpose: recordFields.purpose,
  sender: Sender,
  source: recordFields.source,
  since: recordFields.since,
});
const OptOutQuery = Type.Object({
  channel: Type.Optional(channelName()),
  purpose: Type.Optional(purposeOrAll),
  since: Type.Optional(instant('Only those from this time on.')),
  cursor: Type.Optional(Type.String({ maxLength: 500, description: '`nextCursor` of the page before.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
});
const OptOutsOut = Type.Object({
  data: Type.Array(OptOutOut),
  nextCursor: orNull(Type.String({ description: 'Null: this is the last page.' })),
});
const OptOutsIn = Type.Object({
  to: Type.Array(To, { minItems: 1, maxItems: MAX_CONSENTS }),
  channel: Type.Optional(ConsentIn.properties.channel),
  purpose: Type.Optional(purposeOrAll),
});
const Changed = Type.Object({ changed: Type.Integer({ description: 'Records that are new or different.' }) });

/** Registers the routes for what people have said about messages, with or without a contact. */
export function consentRoutes(app: App, deps: PlatformDeps): void {
  const { pool } = deps;
  const hashOf = createPersonHash(deps.secretKey);

  app.put(`${PG}/consents`, {
    onRequest,
    schema: {
      tags,
      operationId: 'putConsents',
      summary: 'Record consents and opt-outs, with their proof',
      description:
        'All or nothing: errors name the entry and its field. It applies from the response on. An erased person may be ' +
        'written to again after an OPTED_IN with a `proof` whose `at` is later than the erasure.',
      body: withExamples(ConsentsIn, {
        consents: [
          {
            to: '+393331234567',
            channel: 'SMS',
            purpose: 'marketing',
            state: 'OPTED_IN',
            proof: { text: 'Yes, send me offers', url: 'https://shop.example.com/join', formId: 'join' },
          },
        ],
      }),
      response: { 200: Changed },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => putConsents(tx, actor, { ...body, hashOf })),
  });

  app.get(`${PG}/consents`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findConsents',
      summary: 'Get what is known about the consent of a person, and its history',
      querystring: Type.Object({ to: To }),
      response: { 200: ConsentsOut },
    },
    handler: async ({ actor, query }) => {
      const read = readPerson(query.to, actor.numberRules);
      if ('fault' in read) throw invalidFields([{ field: 'to', message: read.fault }]);
      const person = { accountId: actor.accountId, phoneNumber: read.phoneNumber };
      const db = tenant(pool, actor);
      const [records, history] = [await listRecordsOf(db, person), await listHistoryOf(db, person)];
      return { to: read.phoneNumber, records: records.map(toRecordOut), history: history.map(toRecordOut) };
    },
  });

  app.get(`${PG}/opt-outs`, {
    onRequest,
    schema: {
      tags,
      operationId: 'listOptOuts',
      summary: 'List the opt-outs of the account, with or without a contact',
      description: 'In the order of the numbers. Follow `nextCursor` to get all of them.',
      querystring: OptOutQuery,
      response: { 200: OptOutsOut },
    },
    handler: async ({ actor: { accountId }, query }) => {
      const { limit = 100, cursor } = query;
      const after = cursor === undefined ? null : readCursor(cursor);
      const rows = await listOuts(tenant(pool, { accountId }), { ...query, accountId, after, limit: limit + 1 });
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      const data = rows.slice(0, limit).map(({ phoneNumber: to, channel, purpose, sender, source, since }) => ({
        to,
        channel,
        purpose,
        sender,
        source,
        since: since.toISOString(),
      }));
      return { data, nextCursor: last ? toCursor(last) : null };
    },
  });

  app.post(`${PG}/opt-outs/import`, {
    onRequest,
    schema: {
      tags,
      operationId: 'importOptOuts',
      summary: 'Add opt-outs, also of numbers without a contact',
      description: 'It never removes one. All or nothing: errors name the number by its position.',
      body: withExamples(OptOutsIn, { to: ['+393331234567', '+393331234568'], channel: 'SMS' }),
      response: { 200: Changed },
    },
    handler: idempotentTx(deps, 200, async ({ actor, body }, tx) => {
      const { to, channel = '*', purpose = '*' } = body;
      const entries = to.map((one) => ({ to: one, channel, purpose, state: 'OPTED_OUT' as const }));
      return store(tx, actor, entries, { source: 'IMPORT', at: (i) => `to.${i}` });
    }),
  });
}

type Entry = Static<typeof ConsentIn>;

type NewConsents = Static<typeof ConsentsIn> & { readonly hashOf: HashOfPerson };

/**
 * Stores the consents of a request. A person who was erased may be written to after an opt-in with a proof from after the
 * erasure: one without its time may have been sent before.
 */
async function putConsents(tx: Db, actor: Actor, { consents, hashOf }: NewConsents) {
  const { accountId } = actor;
  const answer = await store(tx, actor, consents, { source: 'API', at: (i) => `consents.${i}` });
  const returns = consents.flatMap((entry) => {
    const read = entry.state === 'OPTED_IN' && entry.proof?.at !== undefined ? readEntry(entry, actor) : null;
    return read && 'change' in read ? [{ accountId, phoneNumber: read.change.phoneNumber, at: read.change.since }] : [];
  });
  await deleteErased(tx, hashOf, returns);
  return answer;
}

/** Reads the entries of a request, and stores them all or none. */
async function store(
  tx: Db,
  actor: Actor,
  entries: readonly Entry[],
  { source, at }: { readonly source: ConsentSource; readonly at: (i: number) => string },
): Promise<{ changed: number }> {
  const faults: FieldError[] = [];
  const changes = new Map<string, ConsentChange>();
  /** The entries about single senders, by person: only they can add up. */
  const bySender = new Map<string, number>();
  await mapInSlices(entries, (entry, i) => {
    const read = readEntry(entry, actor);
    if ('faults' in read)
      faults.push(...read.faults.map(({ field, message }) => ({ field: joinField(at(i), field), message })));
    else
      for (const channel of read.channels) {
        const change = { ...read.change, channel, source };
        const person = personOf(change.phoneNumber);
        changes.set([person, channel, change.purpose, change.sender].join('/'), change);
        if (change.sender !== '*') bySender.set(person, i);
      }
  });
  if (faults.length > 0) throw invalidFields(faults);
  const changed = await changeConsent(tx, [...changes.values()]);
  for (const person of await listCrowded(tx, actor, [...bySender.keys()]))
    faults.push({ field: `${at(bySender.get(person) ?? 0)}.sender`, message: TOO_MANY });
  if (faults.length > 0) throw invalidFields(faults);
  const detail = { source, records: changed.length };
  await recordAudit(tx, actor, { action: 'consent.records', subject: `account:${actor.accountId}`, detail });
  return { changed: changed.length };
}

const TOO_MANY = `the person has more than ${MAX_RECORDS} records on a channel`;

/** Lists those of these persons who have more records than a person may have. */
const listCrowded = async (
  tx: Db,
  { accountId }: Pick<Actor, 'accountId'>,
  persons: readonly string[],
): Promise<string[]> => {
  if (persons.length === 0) return [];
  const rows = await many<{ person: string }>(
    tx,
    sql`SELECT DISTINCT person FROM consent WHERE account_id = ${accountId} AND person = ANY(${textArray(persons)}::text[])
        GROUP BY person, channel HAVING count(*) > ${MAX_RECORDS}`,
  );
  return rows.map(({ person }) => person);
};

/** An import names the number itself, an entry of a list a field of it. */
const joinField = (at: string, field: string): string => (at.startsWith('to.') ? at : `${at}.${field}`);

type Readable = {
  readonly channels: readonly Channel[];
  readonly change: Omit<ConsentChange, 'channel' | 'source'>;
};

function readEntry(
  { to, channel, purpose, sender = '*', state, proof }: Entry,
  { accountId, numberRules }: Pick<Actor, 'accountId' | 'numberRules'>,
): { readonly faults: readonly FieldError[] } | Readable {
  const read = readPerson(to, numberRules);
  const at = proof?.at === undefined ? null : new Date(proof.at);
  const channels = (channel === '*' ? CHANNELS : [channel]).filter((one) => !isUserId(to) || CHANNEL[one].userIds);
  const faults = [
    ...(channels.length === 0 ? [{ field: 'channel', message: 'has no user IDs' }] : []),
    ...('fault' in read ? [{ field: 'to', message: read.fault }] : []),
    ...(at && at.getTime() > Date.now() ? [{ field: 'proof.at', message: 'is in the future' }] : []),
  ];
  if ('fault' in read || faults.length > 0) return { faults };
  const { phoneNumber } = read;
  const key = { purpose, sender: sender === '*' ? '*' : senderKey(sender) };
  const how = { state, since: at, proof: proof ? knownFieldsOf(Proof, proof) : null };
  return { channels, change: { accountId, phoneNumber, ...key, ...how } };
}

/** Reads the number or user id of a person. */
function readPerson(
  to: string,
  rules: NumberRules = DEFAULT_NUMBER_RULES,
): { phoneNumber: string } | { fault: string } {
  if (isUserId(to)) return { phoneNumber: to };
  const read = readNumber(to, rules);
  return 'fault' in read ? { fault: NUMBER_FAULTS[read.fault] } : { phoneNumber: read.e164 };
}

const RECORD = columns({
  channel: as<Channel>('channel'),
  purpose: as<ConsentPurpose>('purpose'),
  sender: as<string>('sender'),
  state: as<ConsentState | 'UNKNOWN'>('state'),
  source: as<ConsentSource>('source'),
  proof: as<Record<string, unknown> | null>('proof'),
});
const SINCE = columns({ since: as<Date>('since') });
const AT = columns({ since: as<Date>('at') });
type RecordRow = RowOf<typeof RECORD> & RowOf<typeof SINCE>;
type Person = { readonly accountId: number; readonly phoneNumber: string };

const toRecordOut = ({ since, ...row }: RecordRow) => ({ ...row, since: since.toISOString() });

const listRecordsOf = (db: Db, { accountId, phoneNumber }: Person): Promise<RecordRow[]> =>
  many(
    db,
    sql`SELECT ${RECORD}, ${SINCE} FROM consent WHERE account_id = ${accountId} AND person = ${personOf(phoneNumber)}
        ORDER BY channel, purpose, sender`,
  );

const listHistoryOf = (db: Db, { accountId, phoneNumber }: Person): Promise<RecordRow[]> =>
  many(
    db,
    sql`SELECT ${RECORD}, ${AT} FROM consent_change
        WHERE account_id = ${accountId} AND person = ${personOf(phoneNumber)} ORDER BY id DESC LIMIT ${MAX_HISTORY}`,
  );

const OUT = columns({
  phoneNumber: as<string>('phone_number'),
  person: as<string>('person'),
  channel: as<Channel>('channel'),
  purpose: as<ConsentPurpose>('purpose'),
  sender: as<string>('sender'),
  source: as<ConsentSource>('source'),
  since: as<Date>('since'),
});
type OutRow = RowOf<typeof OUT>;

type Listing = Pick<Static<typeof OptOutQuery>, 'channel' | 'purpose' | 'since'> & {
  readonly accountId: number;
  /** Key of the last row of the page before; null: the first page. */
  readonly after: readonly string[] | null;
  readonly limit: number;
};

/** Lists opt-outs in the order of their keys. */
const listOuts = (db: Db, { accountId, channel, purpose, since, after, limit }: Listing): Promise<OutRow[]> =>
  many(
    db,
    sql`SELECT ${OUT} FROM consent WHERE ${join(
      [
        sql`account_id = ${accountId} AND state = 'OPTED_OUT'`,
        ...(channel === undefined ? [] : [sql`channel = ${channel}`]),
        ...(purpose === undefined ? [] : [sql`purpose = ${purpose}`]),
        ...(since === undefined ? [] : [sql`since >= ${new Date(since)}`]),
        ...(after
          ? [sql`(person, channel, purpose, sender) > (${join(after.map((part) => sql`${part}::text`))})`]
          : []),
      ],
      ' AND ',
    )}
        ORDER BY person, channel, purpose, sender LIMIT ${limit}`,
  );

const toCursor = ({ person, channel, purpose, sender }: OutRow): string =>
  Buffer.from(JSON.stringify([person, channel, purpose, sender])).toString('base64url');

function readCursor(cursor: string): readonly string[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (
      Array.isArray(parts) &&
      parts.length === 4 &&
      parts.every((part) => typeof part === 'string' && !part.includes('\0'))
    )
      return parts;
  } catch {
    // It is not one of ours.
  }
  throw invalidFields([{ field: 'cursor', message: 'is not the nextCursor of a page' }]);
}
