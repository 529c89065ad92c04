import { plainArray, textArray } from '../db/array.ts';
import { bigints, booleans, byteas, ints, smallints, texts, timestamps, uuids } from '../db/columns.ts';
import { type Db, exec, many, sql } from '../db/query.ts';
import type { Channel } from '../lib/channel.ts';

export type NewMessage = {
  readonly accountId: number;
  readonly id: string;
  readonly clientId: string | null;
  readonly channel: Channel;
  readonly source: 'API' | 'CAMPAIGN' | 'INBOX';
  readonly simulation: boolean;
  readonly connectionId: number | null;
  readonly sender: string;
  readonly destination: string;
  readonly body: string;
  readonly udh: Uint8Array | null;
  readonly binaryBody: Uint8Array | null;
  readonly parts: number;
  readonly wantReceipt: boolean;
  readonly validUntil: Date | null;
};

/** Stores messages of any accounts in one statement: 1,000 rows a statement ran at 91,000 rows/s. */
export async function insertMessages(db: Db, rows: readonly NewMessage[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO message (account_id, id, client_id, channel, source, simulation, connection_id, sender, destination,
                             body, udh, binary_body, parts, want_receipt, valid_until)
        SELECT * FROM unnest(
          ${bigints(rows.map((r) => r.accountId))}, ${uuids(rows.map((r) => r.id))},
          ${texts(rows.map((r) => r.clientId))}, ${texts(rows.map((r) => r.channel))},
          ${texts(rows.map((r) => r.source))}, ${booleans(rows.map((r) => r.simulation))},
          ${bigints(rows.map((r) => r.connectionId))}, ${texts(rows.map((r) => r.sender))},
          ${texts(rows.map((r) => r.destination))}, ${texts(rows.map((r) => r.body))},
          ${byteas(rows.map((r) => r.udh))}, ${byteas(rows.map((r) => r.binaryBody))},
          ${smallints(rows.map((r) => r.parts))}, ${booleans(rows.map((r) => r.wantReceipt))},
          ${timestamps(rows.map((r) => r.validUntil))})`,
  );
}

export type ClientIdClaim = {
  readonly accountId: number;
  readonly clientId: string;
  readonly messageId: string;
  readonly contentHash: Uint8Array;
};

/**
 * Takes client ids for 24 hours. Answers the message ids whose client id was free (or older than that); for the
 * others, `findClientIds` tells who holds it. No client id may occur twice in one call.
 */
export async function insertClientIds(db: Db, claims: readonly ClientIdClaim[]): Promise<Set<string>> {
  const rows = await many<{ messageId: string }>(
    db,
    sql`INSERT INTO client_message_id AS c (account_id, client_id, message_id, content_hash, created_at)
        SELECT u.account_id, u.client_id, u.message_id, u.content_hash, now() FROM unnest(
          ${bigints(claims.map((c) => c.accountId))}, ${texts(claims.map((c) => c.clientId))},
          ${uuids(claims.map((c) => c.messageId))}, ${byteas(claims.map((c) => c.contentHash))})
          AS u (account_id, client_id, message_id, content_hash)
        ORDER BY u.account_id, u.client_id
        ON CONFLICT (account_id, client_id) DO UPDATE
          SET message_id = excluded.message_id, content_hash = excluded.content_hash, created_at = excluded.created_at
          WHERE c.created_at < now() - interval '24 hours'
        RETURNING c.message_id AS "messageId"`,
  );
  return new Set(rows.map((row) => row.messageId));
}

/** Who holds these client ids. */
export async function listClientIds(
  db: Db,
  keys: readonly { accountId: number; clientId: string }[],
): Promise<{ accountId: number; clientId: string; messageId: string; contentHash: Buffer; parts: number }[]> {
  return many(
    db,
    sql`SELECT c.account_id AS "accountId", c.client_id AS "clientId", c.message_id AS "messageId",
               c.content_hash AS "contentHash", m.parts
        FROM client_message_id c
        JOIN message m ON m.account_id = c.account_id AND m.id = c.message_id
        JOIN unnest(${bigints(keys.map((k) => k.accountId))}, ${texts(keys.map((k) => k.clientId))})
             AS u (account_id, client_id) ON c.account_id = u.account_id AND c.client_id = u.client_id`,
  );
}

export type QueuedMessage = {
  id: string;
  sender: string;
  destination: string;
  body: string;
  udh: Buffer | null;
  binaryBody: Buffer | null;
  parts: number;
  wantReceipt: boolean;
  validUntil: Date | null;
};

/** What a carrier needs of these messages. All ids lie in [firstId, lastId], which keeps the other days' partitions out. */
export async function listQueuedMessages(
  db: Db,
  keys: { accountIds: readonly number[]; ids: readonly string[]; firstId: string; lastId: string },
): Promise<QueuedMessage[]> {
  return many(
    db,
    sql`SELECT m.id, m.sender, m.destination, m.body, m.udh, m.binary_body AS "binaryBody", m.parts,
               m.want_receipt AS "wantReceipt", m.valid_until AS "validUntil"
        FROM unnest(${bigints(keys.accountIds)}, ${uuids(keys.ids)}) AS u (account_id, id)
        JOIN message m ON m.account_id = u.account_id AND m.id = u.id
        WHERE m.id BETWEEN ${keys.firstId} AND ${keys.lastId}`,
  );
}

export type NewState = {
  readonly accountId: number;
  readonly id: string;
  readonly status: number;
  readonly attempts: number;
  readonly connectionId: number | null;
  readonly carrierId: string | null;
  readonly submitted: boolean;
  readonly errorCode: string | null;
  readonly errorText: string | null;
};

/** The columns of new states, for both statements below. */
const stateColumns = (rows: readonly NewState[]) => sql`unnest(
          ${bigints(rows.map((r) => r.accountId))}, ${uuids(rows.map((r) => r.id))},
          ${smallints(rows.map((r) => r.status))}, ${smallints(rows.map((r) => r.attempts))},
          ${bigints(rows.map((r) => r.connectionId))}, ${texts(rows.map((r) => r.carrierId))},
          ${booleans(rows.map((r) => r.submitted))}, ${texts(rows.map((r) => r.errorCode))},
          ${texts(rows.map((r) => r.errorText))})
          AS u (account_id, id, status, attempts, connection_id, carrier_id, submitted, error_code, error_text)`;

/** Records first outcomes. Fails (23505) when one of the messages has a state already: `moveOutcomes` sorts that out. */
export async function insertStates(db: Db, rows: readonly NewState[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO message_state (account_id, id, status, attempts, connection_id, carrier_id, submitted_at, updated_at,
                                   error_code, error_text)
        SELECT u.account_id, u.id, u.status, u.attempts, u.connection_id, u.carrier_id,
               CASE WHEN u.submitted THEN now() END, now(), u.error_code, u.error_text
        FROM ${stateColumns(rows)}`,
  );
}

/**
 * Records outcomes of messages that may have a state. Answers the ids that were news: an attempt that is already
 * recorded stays as it is, except that a known outcome replaces an unknown one of the same attempt.
 */
export async function moveOutcomes(db: Db, rows: readonly NewState[]): Promise<Set<string>> {
  const changed = await many<{ id: string }>(
    db,
    sql`INSERT INTO message_state AS s (account_id, id, status, attempts, connection_id, carrier_id, submitted_at,
                                        updated_at, error_code, error_text)
        SELECT u.account_id, u.id, u.status, u.attempts, u.connection_id, u.carrier_id,
               CASE WHEN u.submitted THEN now() END, now(), u.error_code, u.error_text
        FROM ${stateColumns(rows)} ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id) DO UPDATE
          SET status = excluded.status, attempts = excluded.attempts, connection_id = excluded.connection_id,
              carrier_id = excluded.carrier_id, submitted_at = excluded.submitted_at, updated_at = excluded.updated_at,
              error_code = excluded.error_code, error_text = excluded.error_text
          WHERE s.status IN (0, 1) AND (s.attempts < excluded.attempts
             OR (s.attempts = excluded.attempts AND s.status = 0 AND excluded.status <> 0))
        RETURNING s.id`,
  );
  return new Set(changed.map((row) => row.id));
}

export type NewPart = {
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number;
  readonly connectionId: number;
  readonly carrierId: string;
};

/** Remembers the carrier ids of the parts of long messages. A part submitted again takes the newer id. */
export async function insertParts(db: Db, rows: readonly NewPart[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO message_part (account_id, message_id, part, connection_id, carrier_id, status)
        SELECT *, 1 FROM unnest(
          ${bigints(rows.map((r) => r.accountId))}, ${uuids(rows.map((r) => r.messageId))},
          ${smallints(rows.map((r) => r.part))}, ${bigints(rows.map((r) => r.connectionId))},
          ${texts(rows.map((r) => r.carrierId))})
        ON CONFLICT (account_id, message_id, part) DO UPDATE
          SET connection_id = excluded.connection_id, carrier_id = excluded.carrier_id, status = 1, done_at = NULL`,
  );
}

type Key = { readonly accountId: number; readonly messageId: string };

/** Lists messages whose outcome nobody knows. */
export async function insertUnknowns(
  db: Db,
  rows: readonly (Key & { readonly connectionId: number; readonly reason: string })[],
): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO unknown_outcome (account_id, message_id, connection_id, reason)
        SELECT * FROM unnest(
          ${bigints(rows.map((r) => r.accountId))}, ${uuids(rows.map((r) => r.messageId))},
          ${bigints(rows.map((r) => r.connectionId))}, ${texts(rows.map((r) => r.reason))})
        ON CONFLICT DO NOTHING`,
  );
}

/** Takes messages off that list. */
export async function deleteUnknowns(db: Db, rows: readonly Key[]): Promise<number> {
  return exec(
    db,
    sql`DELETE FROM unknown_outcome o
        USING unnest(${bigints(rows.map((r) => r.accountId))},
                     ${uuids(rows.map((r) => r.messageId))}) AS u (account_id, message_id)
        WHERE o.account_id = u.account_id AND o.message_id = u.message_id`,
  );
}

/** How many outcomes are unknown, per connection. */
export async function countUnknowns(db: Db): Promise<{ connectionId: number; count: number }[]> {
  return many(
    db,
    sql`SELECT connection_id AS "connectionId", count(*) AS count FROM unknown_outcome GROUP BY connection_id`,
  );
}

export type StateMove = {
  readonly accountId: number;
  readonly id: string;
  readonly status: number;
  readonly doneAt: Date | null;
  readonly errorCode: string | null;
  readonly errorText: string | null;
};

/**
 * Moves messages to the state that a receipt reports, forward only. All ids lie in [firstId, lastId]. Receipts give
 * their time to the minute: it is never put before the submit.
 */
export async function moveStates(
  db: Db,
  { moves, firstId, lastId }: { moves: readonly StateMove[]; firstId: string; lastId: string },
): Promise<Set<string>> {
  const rows = await many<{ id: string }>(
    db,
    sql`UPDATE message_state s
        SET status = u.status, done_at = greatest(u.done_at, s.submitted_at), updated_at = now(), error_code = u.error_code,
            error_text = u.error_text
        FROM unnest(
          ${bigints(moves.map((m) => m.accountId))}, ${uuids(moves.map((m) => m.id))},
          ${smallints(moves.map((m) => m.status))}, ${timestamps(moves.map((m) => m.doneAt))},
          ${texts(moves.map((m) => m.errorCode))}, ${texts(moves.map((m) => m.errorText))})
          AS u (account_id, id, status, done_at, error_code, error_text)
        WHERE s.account_id = u.account_id AND s.id = u.id AND s.status IN (0, 1)
          AND s.id BETWEEN ${firstId} AND ${lastId}
        RETURNING s.id`,
  );
  return new Set(rows.map((row) => row.id));
}

export type PartMove = {
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number;
  readonly status: number;
  readonly doneAt: Date | null;
};

/** Moves parts of long messages, forward only. */
export async function moveParts(db: Db, moves: readonly PartMove[]): Promise<number> {
  return exec(
    db,
    sql`UPDATE message_part p SET status = u.status, done_at = u.done_at
        FROM unnest(
          ${bigints(moves.map((m) => m.accountId))}, ${uuids(moves.map((m) => m.messageId))},
          ${smallints(moves.map((m) => m.part))}, ${smallints(moves.map((m) => m.status))},
          ${timestamps(moves.map((m) => m.doneAt))}) AS u (account_id, message_id, part, status, done_at)
        WHERE p.account_id = u.account_id AND p.message_id = u.message_id AND p.part = u.part AND p.status IN (0, 1)`,
  );
}

/** The statuses of all parts of these messages, and how many parts each message has in all. */
export async function listPartStatuses(
  db: Db,
  keys: readonly Key[],
): Promise<{ accountId: number; messageId: string; parts: number; statuses: number[]; doneAt: Date | null }[]> {
  return many(
    db,
    sql`SELECT m.account_id AS "accountId", m.id AS "messageId", m.parts, array_agg(p.status) AS statuses,
               max(p.done_at) AS "doneAt"
        FROM unnest(${bigints(keys.map((k) => k.accountId))},
                    ${uuids(keys.map((k) => k.messageId))}) AS u (account_id, message_id)
        JOIN message m ON m.account_id = u.account_id AND m.id = u.message_id
        JOIN message_part p ON p.account_id = u.account_id AND p.message_id = u.message_id
        GROUP BY m.account_id, m.id, m.parts`,
  );
}

export type CarrierIdHit = { accountId: number; id: string; carrierId: string; part: number | null };

/** The messages and parts of a connection that carry one of these carrier ids, among ids in [firstId, lastId]. */
export async function listByCarrierIds(
  db: Db,
  look: { connectionId: number; carrierIds: readonly string[]; firstId: string; lastId: string },
): Promise<CarrierIdHit[]> {
  const carrierIds = textArray(look.carrierIds);
  return many(
    db,
    sql`SELECT account_id AS "accountId", id, carrier_id AS "carrierId", NULL::smallint AS part FROM message_state
        WHERE connection_id = ${look.connectionId} AND carrier_id = ANY(${carrierIds}::text[])
          AND id BETWEEN ${look.firstId} AND ${look.lastId}
        UNION ALL
        SELECT account_id, message_id, carrier_id, part FROM message_part
        WHERE connection_id = ${look.connectionId} AND carrier_id = ANY(${carrierIds}::text[])
          AND message_id BETWEEN ${look.firstId} AND ${look.lastId}`,
  );
}

export type MessageRecord = {
  id: string;
  clientId: string | null;
  channel: Channel;
  destination: string;
  sender: string;
  parts: number;
  status: number | null;
  submittedAt: Date | null;
  doneAt: Date | null;
  updatedAt: Date | null;
  errorCode: string | null;
  errorText: string | null;
};

const RECORD = sql`m.id, m.client_id AS "clientId", m.channel, m.destination, m.sender, m.parts, s.status,
  s.submitted_at AS "submittedAt", s.done_at AS "doneAt", s.updated_at AS "updatedAt", s.error_code AS "errorCode",
  s.error_text AS "errorText"`;

/** Messages of one account by our ids; unknown and foreign ids are left out. */
export async function listRecordsById(
  db: Db,
  { accountId, ids }: { accountId: number; ids: readonly string[] },
): Promise<MessageRecord[]> {
  return many(
    db,
    sql`SELECT ${RECORD} FROM message m
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id
        WHERE m.account_id = ${accountId} AND m.id = ANY(${plainArray(ids)}::uuid[])`,
  );
}

/** The newest messages of one account under these client ids. */
export async function listMessageIdsByClientId(
  db: Db,
  { accountId, clientIds }: { accountId: number; clientIds: readonly string[] },
): Promise<{ clientId: string; messageId: string }[]> {
  return many(
    db,
    sql`SELECT client_id AS "clientId", message_id AS "messageId" FROM client_message_id
        WHERE account_id = ${accountId} AND client_id = ANY(${textArray(clientIds)}::text[])`,
  );
}

/** Plans the final state of simulated messages. */
export async function insertSimulated(
  db: Db,
  rows: readonly (Key & { readonly status: number; readonly delayMs: number })[],
): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO simulated_outcome (account_id, message_id, status, due_at)
        SELECT u.account_id, u.message_id, u.status, now() + u.delay_ms * interval '1 millisecond' FROM unnest(
          ${bigints(rows.map((r) => r.accountId))}, ${uuids(rows.map((r) => r.messageId))},
          ${smallints(rows.map((r) => r.status))}, ${ints(rows.map((r) => r.delayMs))})
          AS u (account_id, message_id, status, delay_ms)`,
  );
}

/** Takes simulated outcomes whose time has come. */
export async function deleteDueSimulated(
  db: Db,
  limit: number,
): Promise<{ accountId: number; messageId: string; status: number; dueAt: Date }[]> {
  return many(
    db,
    sql`DELETE FROM simulated_outcome o
        USING (SELECT account_id, message_id FROM simulated_outcome WHERE due_at <= now()
               ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) AS due
        WHERE o.account_id = due.account_id AND o.message_id = due.message_id
        RETURNING o.account_id AS "accountId", o.message_id AS "messageId", o.status, o.due_at AS "dueAt"`,
  );
}

/** How long until the next simulated outcome is due, in ms; null when none waits. */
export async function findNextSimulatedMs(db: Db): Promise<number | null> {
  const [row] = await many<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM simulated_outcome`,
  );
  return row?.ms ?? null;
}
