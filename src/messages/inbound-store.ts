import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { operatorAuthor, recordAudit } from '../accounts/audit.ts';
import type { InboundType, RichInbound } from '../channels/carrier.ts';
import type { InboundContent } from '../channels/inbound-content.ts';
import type { Channel } from '../core/channels.ts';
import {
  bigint,
  bytea,
  input,
  insertRows,
  int,
  json,
  rowsOf,
  smallint,
  text,
  timestamptz,
  uuid,
} from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, maybeOne, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import { firstIdAt } from '../core/ids.ts';
import { DAY_MS, SECOND_MS } from '../core/time.ts';
import { connectionNamed } from '../routing/connection-store.ts';
import type { Subscription } from '../routing/kind.ts';
import { type ConsentSettings, loadConsentSettings, wordsAt } from './consent-settings.ts';
import { saidIn, wordIn } from './consent-words.ts';
import { applyConsentWords, applyMarketingChoices } from './stops.ts';
import { BARE } from './parts.ts';

/**
 * Converts a number without a plus to the form in which inbound messages store it: otherwise as the carrier writes it.
 */
export const plainNumber = (written: string): string => written.replace(/^\+(?=\d)/, '');

type Named = {
  /** The number as the carrier writes it, or `*` for every other number of the connection. */
  readonly number: string;
  readonly connection: string;
  readonly by: string;
};

/**
 * Assigns a number to an account, which then receives the messages to it. Assigning it again moves it to another
 * account. Call it in a transaction. Errors: 400 for the number, 404 for the connection.
 */
export async function assignNumber(
  tx: Db,
  { accountId, ...named }: Named & { readonly accountId: number },
): Promise<{ number: string }> {
  const numbered = await findNumbered(tx, named);
  await insertNumber(tx, { ...numbered, accountId });
  await record(tx, accountId, 'number.assign', named);
  return { number: numbered.number };
}

/**
 * Unassigns a number from its account, which keeps its messages. Call it in a transaction. Errors: 400 for the number,
 * 404 when the connection does not exist or no account has the number.
 */
export async function removeNumber(tx: Db, named: Named): Promise<void> {
  const accountId = await deleteNumber(tx, await findNumbered(tx, named));
  if (accountId === undefined)
    throw new AppError('not_found', { message: `No account has ${named.number} on ${named.connection}` });
  await record(tx, accountId, 'number.remove', named);
}

const record = (tx: Db, accountId: number, action: string, { number, connection, by }: Named): Promise<void> =>
  recordAudit(tx, operatorAuthor(accountId, by), { action, subject: `number:${number}`, detail: { connection } });

async function findNumbered(tx: Db, named: Named): Promise<Numbered> {
  const number = plainNumber(named.number);
  if (!/^(\d{1,20}|\*)$/.test(number))
    throw invalidFields([{ field: 'number', message: 'must be up to 20 digits, or *' }]);
  return { connectionId: (await connectionNamed(tx, named.connection)).id, number };
}

/** Covers the time in which the network repeats a callback: an old "no" must not undo a newer "yes". */
const KEEP_SECONDS = (8 * DAY_MS) / SECOND_MS;

/**
 * Records, for the account that has the sender, that people used the network's own button instead of writing STOP or
 * START. A repeated callback counts once.
 */
export async function receiveSubscriptions(
  pool: Pool,
  connectionId: number,
  subscriptions: readonly Subscription[],
): Promise<void> {
  const byHash = new Map(subscriptions.filter(isFresh).map((one) => [hashOf(one), one]));
  if (byHash.size === 0) return;
  await transaction(pool, async (tx) => {
    const rows = [...byHash.keys()].map((hash) => ({ connectionId, hash: Buffer.from(hash, 'hex') }));
    const seen = await insertSeen(
      tx,
      rows.map((row) => ({ ...row, keepSeconds: KEEP_SECONDS })),
    );
    const fresh = seen.flatMap(({ hash }) => byHash.get(hash.toString('hex')) ?? []);
    if (fresh.length === 0) return;
    const owners = await listOwners(tx, { numbers: fresh.map((one) => ({ connectionId, number: one.identity })) });
    const accountOf = new Map(owners.map((owner) => [owner.number, owner.accountId]));
    const owned = fresh.flatMap(({ identity, phoneNumber: source, ...rest }) => {
      const accountId = accountOf.get(identity);
      return accountId === undefined ? [] : [{ accountId, source, destination: identity, ...rest }];
    });
    const [all, marketing] = [owned.filter(isOfAll), owned.filter((one) => !isOfAll(one))];
    await applyConsentWords(
      tx,
      all.map(({ subscribed, ...one }) => ({ ...one, said: { says: subscribed ? 'START' : 'STOP', language: 'en' } })),
      await loadConsentSettings(
        tx,
        all.map(({ accountId }) => accountId),
      ),
    );
    await applyMarketingChoices(tx, marketing);
  });
}

const isOfAll = ({ purpose }: Pick<Subscription, 'purpose'>): boolean => purpose === '*';

const isFresh = ({ at }: Subscription): boolean => at === null || at.getTime() > Date.now() - KEEP_SECONDS * SECOND_MS;

const hashOf = ({ identity, phoneNumber, purpose, subscribed, at }: Subscription): string =>
  createHash('sha256')
    .update(JSON.stringify(['subscription', identity, phoneNumber, purpose, subscribed, at]))
    .digest('hex');

/**
 * Locks these connections until the transaction ends, so that no other process joins their parts: if two processes each
 * received one half of a message, neither would see the other half. `connectionIds` must be in ascending order.
 */
export async function claimConnections(db: Db, { connectionIds }: { connectionIds: readonly number[] }): Promise<void> {
  await exec(
    db,
    sql`SELECT pg_advisory_xact_lock(724907, id::int) FROM unnest(${plainArray(connectionIds)}::bigint[]) AS id`,
  );
}

/** Hash of something received on a connection. */
export type Seen = { readonly connectionId: number; readonly hash: Buffer };

const SEEN = columns({ connectionId: as<number>('s.connection_id'), hash: as<Buffer>('s.hash') });

/**
 * Remembers received hashes for `keepSeconds`. Returns those not remembered before. Rows must be unique within a call.
 */
export const insertSeen = (db: Db, rows: readonly (Seen & { readonly keepSeconds: number })[]): Promise<Seen[]> =>
  many(
    db,
    sql`${insertRows(
      'inbound_seen AS s',
      rows,
      { connectionId: bigint, hash: bytea, keepSeconds: input(int) },
      { forget_at: sql`now() + u.keep_seconds * interval '1 second'` },
    )}
        ORDER BY u.connection_id, u.hash
        ON CONFLICT (connection_id, hash) DO UPDATE SET forget_at = excluded.forget_at
          WHERE s.forget_at < now()
        RETURNING ${SEEN}`,
  );

/** Forgets received hashes before their time. */
export async function deleteSeen(db: Db, rows: readonly Seen[]): Promise<void> {
  await exec(
    db,
    sql`DELETE FROM inbound_seen s USING ${rowsOf(rows, {
      connection_id: bigint((r) => r.connectionId),
      hash: bytea((r) => r.hash),
    })} AS u
        WHERE s.connection_id = u.connection_id AND s.hash = u.hash`,
  );
}

/** Deletes hashes that need not be remembered any longer. Returns how many rows there were. */
export async function deleteOldSeen(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM inbound_seen WHERE forget_at < now()`);
}

/** Key of the long message to which a part belongs (GSM 03.40, 9.2.3.24). */
export type SetKey = {
  readonly connectionId: number;
  readonly source: string;
  readonly destination: string;
  readonly ref: number;
  readonly total: number;
};

/** A part as it was received; `text` may begin or end with half of a surrogate pair. */
export type NewPart = SetKey & { readonly seq: number; readonly text: string; readonly octets: Uint8Array };

/** Stores parts that wait for the rest of their messages. */
export async function insertParts(db: Db, rows: readonly NewPart[]): Promise<void> {
  await exec(
    db,
    insertRows(
      'inbound_part',
      rows.map(({ text: part, ...row }) => ({ ...row, textUtf16: Buffer.from(part, 'utf16le') })),
      {
        connectionId: bigint,
        source: text,
        destination: text,
        ref: int,
        total: smallint,
        seq: smallint,
        textUtf16: bytea,
        octets: bytea,
      },
    ),
  );
}

const keyColumns = {
  connection_id: bigint((k: SetKey) => k.connectionId),
  source: text((k: SetKey) => k.source),
  destination: text((k: SetKey) => k.destination),
  ref: int((k: SetKey) => k.ref),
  total: smallint((k: SetKey) => k.total),
};

const PART = columns({
  id: as<number>('p.id'),
  connectionId: as<number>('p.connection_id'),
  source: as<string>('p.source'),
  destination: as<string>('p.destination'),
  ref: as<number>('p.ref'),
  total: as<number>('p.total'),
  seq: as<number>('p.seq'),
  textUtf16: as<Buffer>('p.text_utf16'),
  octets: as<Buffer>('p.octets'),
  receivedAt: as<Date>('p.received_at'),
  /** True if the part has waited for more than ten minutes. */
  overdue: as<boolean>("p.received_at < now() - interval '10 minutes'"),
});
export type Part = Readonly<Omit<RowOf<typeof PART>, 'textUtf16'>> & Pick<NewPart, 'text'>;

/** Lists the waiting parts of these long messages in the order in which they were received. */
export async function listParts(db: Db, { keys }: { keys: readonly SetKey[] }): Promise<Part[]> {
  const rows = await many(
    db,
    sql`SELECT ${PART}
        FROM ${rowsOf(keys, keyColumns)} AS u
        JOIN inbound_part p ON p.connection_id = u.connection_id AND p.source = u.source
          AND p.destination = u.destination AND p.ref = u.ref AND p.total = u.total
        ORDER BY p.id`,
  );
  return rows.map(({ textUtf16, ...row }) => ({ ...row, text: textUtf16.toString('utf16le') }));
}

const SET_KEY = columns({
  connectionId: as<number>('connection_id'),
  source: as<string>('source'),
  destination: as<string>('destination'),
  ref: as<number>('ref'),
  total: as<number>('total'),
});

/** Lists up to `limit` long messages that have a part which has waited for more than ten minutes. */
export const listOverdueSets = (db: Db, { limit }: { limit: number }): Promise<SetKey[]> =>
  many(
    db,
    sql`SELECT ${SET_KEY} FROM inbound_part
        WHERE received_at < now() - interval '10 minutes'
        GROUP BY connection_id, source, destination, ref, total LIMIT ${limit}`,
  );

/** Deletes waiting parts. Returns how many there were. */
export async function deleteParts(db: Db, { ids }: { ids: readonly number[] }): Promise<number> {
  return exec(db, sql`DELETE FROM inbound_part WHERE id = ANY(${plainArray(ids)}::bigint[])`);
}

export type NewInboundMessage = {
  readonly accountId: number;
  readonly id: string;
  readonly connectionId: number;
  readonly source: string;
  readonly destination: string;
  readonly body: string;
  readonly octets: Uint8Array;
  readonly parts: number;
  readonly partsReceived: number;
  /** Time of receipt; null: now. */
  readonly receivedAt: Date | null;
  readonly channel: Channel;
  readonly messageType: InboundType;
  readonly details: InboundDetails | null;
  readonly content: InboundContent | null;
};

/** Details that only networks other than SMS provide about a message; stored with it, `at` as text. */
export type InboundDetails = Pick<RichInbound, 'id' | 'profileName' | 'ownNumber' | 'media' | 'alias' | 'notice'> & {
  readonly at: string | null;
};

type Quoted = { readonly accountId: number; readonly connectionId: number; readonly networkId: string };

/** Days in which a quoted message is looked for. */
const QUOTABLE_MS = 30 * DAY_MS;

/**
 * Finds the messages that people quote among those sent and received in the last 30 days: our ids by those at the
 * network.
 */
async function findQuoted(db: Db, quoted: readonly Quoted[]): Promise<ReadonlyMap<string, string>> {
  const rows = await many<{ networkId: string; id: string }>(
    db,
    sql`WITH u AS (SELECT DISTINCT * FROM ${rowsOf(quoted, {
      account_id: bigint((q) => q.accountId),
      connection_id: bigint((q) => q.connectionId),
      network_id: text((q) => q.networkId),
    })} AS q)
        SELECT u.network_id AS "networkId", s.id FROM u
        JOIN message_state s ON s.connection_id = u.connection_id AND ${BARE(sql`s.carrier_id`)} = ${BARE(sql`u.network_id`)}
        WHERE s.account_id = u.account_id AND s.carrier_id = u.network_id AND s.id >= ${firstIdAt(new Date(Date.now() - QUOTABLE_MS))}
        UNION ALL
        SELECT u.network_id, m.id FROM u
        JOIN inbound_message m ON m.account_id = u.account_id AND m.details ->> 'id' = u.network_id`,
  );
  return new Map(rows.map(({ networkId, id }) => [networkId, id]));
}

/** Completes the messages that people quote with our ids of them. */
export async function withQuoted(
  tx: Db,
  messages: readonly NewInboundMessage[],
): Promise<readonly NewInboundMessage[]> {
  const quoted = messages.flatMap(({ accountId, connectionId, content }) =>
    content?.replyTo ? [{ accountId, connectionId, networkId: content.replyTo.networkId }] : [],
  );
  if (quoted.length === 0) return messages;
  const idOfQuoted = await findQuoted(tx, quoted);
  return messages.map((message) => {
    const { replyTo, ...content } = message.content ?? {};
    if (!replyTo) return message;
    const messageId = idOfQuoted.get(replyTo.networkId) ?? null;
    return { ...message, content: { ...content, replyTo: { ...replyTo, messageId } } };
  });
}

export async function insertInboundMessages(db: Db, rows: readonly NewInboundMessage[]): Promise<void> {
  await exec(
    db,
    insertRows(
      'inbound_message',
      rows,
      {
        accountId: bigint,
        id: uuid,
        connectionId: bigint,
        source: text,
        destination: text,
        body: text,
        octets: bytea,
        parts: smallint,
        partsReceived: smallint,
        receivedAt: input(timestamptz),
        channel: text,
        messageType: text,
        details: json((r) => (r.details === null ? null : JSON.stringify(r.details))),
        content: json((r) => (r.content === null ? null : JSON.stringify(r.content))),
      },
      { received_at: sql`coalesce(u.received_at, now())` },
    ),
  );
}

const INBOUND_MESSAGE = columns({
  id: as<string>('m.id'),
  channel: as<Channel>('m.channel'),
  accountId: as<number>('m.account_id'),
  connection: as<string>('c.name'),
  source: as<string>('m.source'),
  destination: as<string>('m.destination'),
  body: as<string>('m.body'),
  parts: as<number>('m.parts'),
  partsReceived: as<number>('m.parts_received'),
  receivedAt: as<Date>('m.received_at'),
});
/** A message that an account received. */
export type InboundMessage = RowOf<typeof INBOUND_MESSAGE>;

/** Lists the newest messages of one account, newest first; account 0 has those to numbers without an account. */
export const listInboundMessages = (
  db: Db,
  { accountId, limit }: { accountId: number; limit: number },
): Promise<InboundMessage[]> =>
  many(
    db,
    sql`SELECT ${INBOUND_MESSAGE}
        FROM inbound_message m JOIN connection c ON c.id = m.connection_id
        WHERE m.account_id = ${accountId} ORDER BY m.id DESC LIMIT ${limit}`,
  );

/** A number on a connection; `*` is every other number of the connection. */
export type Numbered = { readonly connectionId: number; readonly number: string };

const NUMBER_OWNER = columns({
  connectionId: as<number>('u.connection_id'),
  number: as<string>('u.number'),
  accountId: as<number>('coalesce(s.owner_id, n.account_id)'),
});
/** The account to which messages to a number go. */
export type NumberOwner = RowOf<typeof NUMBER_OWNER>;

/**
 * Lists the accounts that own these numbers: the account that has the sender (RCS, WhatsApp), else that of the number,
 * else that of the whole connection. Numbers without an account are omitted.
 */
export const listOwners = (db: Db, { numbers }: { numbers: readonly Numbered[] }): Promise<NumberOwner[]> =>
  many(
    db,
    sql`SELECT DISTINCT ON (u.connection_id, u.number) ${NUMBER_OWNER}
        FROM ${rowsOf(numbers, {
          connection_id: bigint((n) => n.connectionId),
          number: text((n) => n.number),
        })} AS u
        LEFT JOIN sender s ON s.connection_id = u.connection_id AND s.identity = u.number
        LEFT JOIN inbound_number n ON n.connection_id = u.connection_id AND n.number IN (u.number, '*')
        WHERE s.owner_id IS NOT NULL OR n.account_id IS NOT NULL
        ORDER BY u.connection_id, u.number, n.number = '*'`,
  );

type Written = {
  readonly connectionId: number;
  readonly inbound: { readonly destination: string; readonly text: string };
};

/** Finds those of these SMS that are a word about further messages to the account of their number. */
export async function findWords<M extends Written>(db: Db, messages: readonly M[]): Promise<ReadonlySet<M>> {
  const short = messages.filter(({ inbound }) => wordIn(inbound.text) !== null);
  const isWord = ({ inbound: { text: body, destination } }: M, settings?: ConsentSettings): boolean =>
    (saidIn(body, settings && wordsAt(settings, destination))?.says ?? 'HELP') !== 'HELP';
  const [words, others] = [short.filter((one) => isWord(one)), short.filter((one) => !isWord(one))];
  if (others.length === 0) return new Set(words);
  const owners = await listOwners(db, {
    numbers: others.map(({ connectionId, inbound }) => ({ connectionId, number: inbound.destination })),
  });
  const settingsOf = await loadConsentSettings(
    db,
    owners.map(({ accountId }) => accountId),
  );
  const accounts = new Map(owners.map((owner) => [`${owner.connectionId}/${owner.number}`, owner.accountId]));
  const own = others.filter((one) =>
    isWord(one, settingsOf(accounts.get(`${one.connectionId}/${one.inbound.destination}`) ?? 0)),
  );
  return new Set([...words, ...own]);
}

/** Assigns a number to an account, replacing the previous one. */
export async function insertNumber(
  db: Db,
  { connectionId, number, accountId }: Numbered & { accountId: number },
): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO inbound_number (connection_id, number, account_id) VALUES (${connectionId}, ${number}, ${accountId})
        ON CONFLICT (connection_id, number) DO UPDATE SET account_id = excluded.account_id`,
  );
}

/** Deletes the assignment of a number. Returns the account that had it; undefined when none had. */
async function deleteNumber(db: Db, { connectionId, number }: Numbered): Promise<number | undefined> {
  const deleted = await maybeOne<{ accountId: number }>(
    db,
    sql`DELETE FROM inbound_number WHERE connection_id = ${connectionId} AND number = ${number}
        RETURNING account_id AS "accountId"`,
  );
  return deleted?.accountId;
}
