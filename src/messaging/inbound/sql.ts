import type { InboundType, RichInbound } from '../../carriers/events.ts';
import { plainArray } from '../../platform/db/array.ts';
import { bigint, bytea, int, json, rowsOf, smallint, text, timestamptz, uuid } from '../../platform/db/columns.ts';
import { type Db, exec, many, maybeOne, sql } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';

/**
 * Waits until no other process puts parts of these connections together, until the transaction ends: of two that each
 * brought one half, neither would see the other's. `connectionIds` in ascending order.
 */
export async function claimConnections(db: Db, { connectionIds }: { connectionIds: readonly number[] }): Promise<void> {
  await exec(
    db,
    sql`SELECT pg_advisory_xact_lock(724907, id::int) FROM unnest(${plainArray(connectionIds)}::bigint[]) AS id`,
  );
}

export type Seen = { readonly connectionId: number; readonly hash: Buffer };

/**
 * Remembers what came for so many seconds. Answers what is not remembered. Nothing may occur twice in one call.
 */
export async function insertSeen(db: Db, rows: readonly (Seen & { readonly keepSeconds: number })[]): Promise<Seen[]> {
  return many(
    db,
    sql`INSERT INTO inbound_seen AS s (connection_id, hash, forget_at)
        SELECT u.connection_id, u.hash, now() + u.keep_seconds * interval '1 second' FROM ${rowsOf(rows, {
          connection_id: bigint((r) => r.connectionId),
          hash: bytea((r) => r.hash),
          keep_seconds: int((r) => r.keepSeconds),
        })} AS u
        ORDER BY u.connection_id, u.hash
        ON CONFLICT (connection_id, hash) DO UPDATE SET forget_at = excluded.forget_at
          WHERE s.forget_at < now()
        RETURNING s.connection_id AS "connectionId", s.hash`,
  );
}

/** Forgets what need not be remembered any longer. */
export async function deleteOldSeen(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM inbound_seen WHERE forget_at < now()`);
}

/** Which long message parts belong to (protocol sheet smpp, section 7). */
export type SetKey = {
  readonly connectionId: number;
  readonly source: string;
  readonly destination: string;
  readonly ref: number;
  readonly total: number;
};

/** A part as it came; `text` may begin or end with half a surrogate pair. */
export type NewPart = SetKey & { readonly seq: number; readonly text: string; readonly octets: Uint8Array };

export type Part = NewPart & { readonly id: number; readonly receivedAt: Date; readonly overdue: boolean };

export async function insertParts(db: Db, rows: readonly NewPart[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO inbound_part (connection_id, source, destination, ref, total, seq, text_utf16, octets)
        SELECT * FROM ${rowsOf(rows, {
          ...keyColumns,
          seq: smallint((r: NewPart) => r.seq),
          text_utf16: bytea((r: NewPart) => Buffer.from(r.text, 'utf16le')),
          octets: bytea((r: NewPart) => r.octets),
        })} AS u`,
  );
}

const keyColumns = {
  connection_id: bigint((k: SetKey) => k.connectionId),
  source: text((k: SetKey) => k.source),
  destination: text((k: SetKey) => k.destination),
  ref: int((k: SetKey) => k.ref),
  total: smallint((k: SetKey) => k.total),
};

/** The waiting parts of these long messages, in the order in which they came. Ten minutes make a part overdue. */
export async function listParts(db: Db, { keys }: { keys: readonly SetKey[] }): Promise<Part[]> {
  const rows = await many<Omit<Part, 'text'> & { textUtf16: Buffer }>(
    db,
    sql`SELECT p.id, p.connection_id AS "connectionId", p.source, p.destination, p.ref, p.total, p.seq,
               p.text_utf16 AS "textUtf16", p.octets, p.received_at AS "receivedAt",
               p.received_at < now() - interval '10 minutes' AS overdue
        FROM ${rowsOf(keys, keyColumns)} AS u
        JOIN inbound_part p ON p.connection_id = u.connection_id AND p.source = u.source
          AND p.destination = u.destination AND p.ref = u.ref AND p.total = u.total
        ORDER BY p.id`,
  );
  return rows.map(({ textUtf16, ...row }) => ({ ...row, text: textUtf16.toString('utf16le') }));
}

/** Long messages with an overdue part. */
export async function listOverdueSets(db: Db, { limit }: { limit: number }): Promise<SetKey[]> {
  return many(
    db,
    sql`SELECT connection_id AS "connectionId", source, destination, ref, total FROM inbound_part
        WHERE received_at < now() - interval '10 minutes'
        GROUP BY connection_id, source, destination, ref, total LIMIT ${limit}`,
  );
}

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
  /** Null: now. */
  readonly receivedAt: Date | null;
  readonly channel: Channel;
  readonly messageType: InboundType;
  readonly details: InboundDetails | null;
};

/** What only networks beyond SMS tell of a message, as it is kept with it; `at` as text. */
export type InboundDetails = Pick<RichInbound, 'id' | 'profileName' | 'media'> & { readonly at: string | null };

export async function insertInboundMessages(db: Db, rows: readonly NewInboundMessage[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO inbound_message (account_id, id, connection_id, source, destination, body, octets, parts,
                                     parts_received, received_at, channel, message_type, details)
        SELECT u.account_id, u.id, u.connection_id, u.source, u.destination, u.body, u.octets, u.parts,
               u.parts_received, coalesce(u.received_at, now()), u.channel, u.message_type, u.details
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          id: uuid((r) => r.id),
          connection_id: bigint((r) => r.connectionId),
          source: text((r) => r.source),
          destination: text((r) => r.destination),
          body: text((r) => r.body),
          octets: bytea((r) => r.octets),
          parts: smallint((r) => r.parts),
          parts_received: smallint((r) => r.partsReceived),
          received_at: timestamptz((r) => r.receivedAt),
          channel: text((r) => r.channel),
          message_type: text((r) => r.messageType),
          details: json((r) => (r.details === null ? null : JSON.stringify(r.details))),
        })} AS u`,
  );
}

export type InboundMessage = {
  id: string;
  channel: Channel;
  accountId: number;
  connection: string;
  source: string;
  destination: string;
  body: string;
  parts: number;
  partsReceived: number;
  receivedAt: Date;
};

/** The newest messages of one account first; account 0 has those that nobody owns. */
export async function listInboundMessages(
  db: Db,
  { accountId, limit }: { accountId: number; limit: number },
): Promise<InboundMessage[]> {
  return many(
    db,
    sql`SELECT m.id, m.channel, m.account_id AS "accountId", c.name AS connection, m.source, m.destination, m.body, m.parts,
               m.parts_received AS "partsReceived", m.received_at AS "receivedAt"
        FROM inbound_message m JOIN connection c ON c.id = m.connection_id
        WHERE m.account_id = ${accountId} ORDER BY m.id DESC LIMIT ${limit}`,
  );
}

export type Numbered = { readonly connectionId: number; readonly number: string };

/**
 * Who owns these numbers: whoever has the sender (RCS, WhatsApp), then the number's own row, then that of the whole
 * connection. Nobody's are left out.
 */
export async function listOwners(
  db: Db,
  { numbers }: { numbers: readonly Numbered[] },
): Promise<{ connectionId: number; number: string; accountId: number }[]> {
  return many(
    db,
    sql`SELECT DISTINCT ON (u.connection_id, u.number) u.connection_id AS "connectionId", u.number,
               coalesce(s.owner_id, n.account_id) AS "accountId"
        FROM ${rowsOf(numbers, {
          connection_id: bigint((n) => n.connectionId),
          number: text((n) => n.number),
        })} AS u
        LEFT JOIN sender s ON s.connection_id = u.connection_id AND s.identity = u.number
        LEFT JOIN inbound_number n ON n.connection_id = u.connection_id AND n.number IN (u.number, '*')
        WHERE s.owner_id IS NOT NULL OR n.account_id IS NOT NULL
        ORDER BY u.connection_id, u.number, n.number = '*'`,
  );
}

/** Gives a number to an account, or to another one than before. */
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

/** Answers whose it was. */
export async function deleteNumber(db: Db, { connectionId, number }: Numbered): Promise<number | undefined> {
  const deleted = await maybeOne<{ accountId: number }>(
    db,
    sql`DELETE FROM inbound_number WHERE connection_id = ${connectionId} AND number = ${number}
        RETURNING account_id AS "accountId"`,
  );
  return deleted?.accountId;
}

/** All numbers, with whom they belong to. */
export async function listNumbers(
  db: Db,
): Promise<{ number: string; connection: string; accountId: number; account: string }[]> {
  return many(
    db,
    sql`SELECT n.number, c.name AS connection, n.account_id AS "accountId", a.name AS account
        FROM inbound_number n JOIN connection c ON c.id = n.connection_id JOIN account a ON a.id = n.account_id
        ORDER BY c.name, n.number`,
  );
}
