import { bigint, json, rowsOf, text } from '../../platform/db/columns.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import type { SenderChannel } from '../connections/kinds/kind.ts';

const SENDER = columns({
  id: as<number>('s.id'),
  channel: as<SenderChannel>('s.channel'),
  /** WhatsApp: the phone number id. RCS: the agent id. Null while the agent is only requested. */
  identity: as<string | null>('s.identity'),
  connectionId: as<number | null>('s.connection_id'),
  /** Null: shared by all accounts. */
  ownerId: as<number | null>('s.owner_id'),
  name: as<string>('s.name'),
  details: as<Record<string, unknown>>('s.details'),
  createdAt: as<Date>('s.created_at'),
});
export type Sender = RowOf<typeof SENDER>;

const REGISTERED = columns({
  channel: as<SenderChannel>('channel'),
  identity: as<string>('identity'),
  connectionId: as<number>('connection_id'),
  ownerId: as<number | null>('owner_id'),
});

/** Lists all senders that messages can be sent as, for the router. */
export async function listRegisteredSenders(db: Db): Promise<RowOf<typeof REGISTERED>[]> {
  return many(db, sql`SELECT ${REGISTERED} FROM sender WHERE identity IS NOT NULL`);
}

type Usable = { accountId: number; channel: SenderChannel };

const isUsable = ({ accountId, channel }: Usable) =>
  sql`s.channel = ${channel} AND (s.owner_id = ${accountId} OR s.owner_id IS NULL)`;

/** Lists a page of the senders that an account may use, its own and the shared ones, the oldest first. */
export async function listUsableSenders(
  db: Db,
  usable: Usable,
  { limit, offset }: { limit: number; offset: number },
): Promise<Sender[]> {
  return many(
    db,
    sql`SELECT ${SENDER} FROM sender s WHERE ${isUsable(usable)} ORDER BY s.id LIMIT ${limit} OFFSET ${offset}`,
  );
}

export async function countUsableSenders(db: Db, usable: Usable): Promise<number> {
  const row = await one<{ count: number }>(db, sql`SELECT count(*) AS count FROM sender s WHERE ${isUsable(usable)}`);
  return row.count;
}

const USABLE_SENDER = columns({
  identity: as<string>('s.identity'),
  name: as<string>('s.name'),
  connectionId: as<number>('s.connection_id'),
});
export type UsableSender = RowOf<typeof USABLE_SENDER>;

/** Finds a sender that the account may use: its own, or a shared one. */
export async function findUsableSender(
  db: Db,
  { accountId, channel, identity }: { accountId: number; channel: SenderChannel; identity: string },
): Promise<UsableSender | undefined> {
  return maybeOne(
    db,
    sql`SELECT ${USABLE_SENDER} FROM sender s
        WHERE ${isUsable({ accountId, channel })} AND s.identity = ${identity}`,
  );
}

/**
 * Locks out other changes of senders until the transaction ends: the owner of a connection follows from several rows.
 */
export async function claimSenders(db: Db): Promise<void> {
  await exec(db, sql`SELECT pg_advisory_xact_lock(724909, 0)`);
}

export type NewSender = {
  readonly channel: SenderChannel;
  readonly identity: string;
  readonly connectionId: number;
  readonly ownerId: number | null;
  readonly name: string;
};

/** Inserts a sender, or moves one that exists to another connection or owner. */
export async function insertSender(db: Db, s: NewSender): Promise<{ id: number }> {
  return one(
    db,
    sql`INSERT INTO sender (channel, identity, connection_id, owner_id, name)
        VALUES (${s.channel}, ${s.identity}, ${s.connectionId}, ${s.ownerId}, ${s.name})
        ON CONFLICT (channel, identity) DO UPDATE SET connection_id = excluded.connection_id,
          owner_id = excluded.owner_id, name = coalesce(nullif(excluded.name, ''), sender.name)
        RETURNING id`,
  );
}

/** Inserts a requested agent: it has no identity until the operator has registered it with the network. */
export async function insertRequestedSender(
  db: Db,
  s: { accountId: number; channel: SenderChannel; name: string; details: object },
): Promise<Sender> {
  return one(
    db,
    sql`INSERT INTO sender AS s (channel, owner_id, name, details)
        VALUES (${s.channel}, ${s.accountId}, ${s.name}, ${JSON.stringify(s.details)}::jsonb) RETURNING ${SENDER}`,
  );
}

/** Gives a requested agent its identity and returns its owner; undefined when no agent with this id waits for one. */
export async function moveSenderToRegistered(
  db: Db,
  { id, identity, connectionId }: { id: number; identity: string; connectionId: number },
): Promise<{ ownerId: number } | undefined> {
  return maybeOne(
    db,
    sql`UPDATE sender SET identity = ${identity}, connection_id = ${connectionId}
        WHERE id = ${id} AND channel = 'RCS' AND identity IS NULL RETURNING owner_id AS "ownerId"`,
  );
}

/** Stores the network's report about its phone numbers; numbers that are not registered here are ignored. */
export async function updateSenderDetails(
  db: Db,
  {
    connectionId,
    senders,
  }: { connectionId: number; senders: readonly { identity: string; name: string; details: object }[] },
): Promise<number> {
  return exec(
    db,
    sql`UPDATE sender s SET name = u.name, details = u.details::jsonb
        FROM ${rowsOf(senders, {
          identity: text((r) => r.identity),
          name: text((r) => r.name),
          details: json((r) => JSON.stringify(r.details)),
        })} AS u
        WHERE s.connection_id = ${connectionId} AND s.identity = u.identity
          AND (s.name, s.details) IS DISTINCT FROM (u.name, u.details::jsonb)`,
  );
}

/** Deletes a sender and returns it; undefined when there is none. */
export async function deleteSender(
  db: Db,
  { channel, identity }: { channel: SenderChannel; identity: string },
): Promise<Sender | undefined> {
  return maybeOne(
    db,
    sql`DELETE FROM sender s WHERE s.channel = ${channel} AND s.identity = ${identity} RETURNING ${SENDER}`,
  );
}

/** Deletes all senders of a connection; returns their number. */
export async function deleteSendersOf(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  return exec(db, sql`DELETE FROM sender WHERE connection_id = ${connectionId}`);
}

const OWNER = columns({
  connectionId: as<number>('s.connection_id'),
  ownerId: as<number | null>('s.owner_id'),
});

/**
 * Lists the owners of the senders of each of these connections: an account, or null for shared senders. Connections
 * without senders are missing.
 */
export async function listOwnersOfConnections(
  db: Db,
  { connectionIds }: { connectionIds: readonly number[] },
): Promise<RowOf<typeof OWNER>[]> {
  return many(
    db,
    sql`SELECT DISTINCT ${OWNER}
        FROM ${rowsOf(connectionIds, { id: bigint((id) => id) })} AS u JOIN sender s ON s.connection_id = u.id
        ORDER BY 1, 2`,
  );
}

const SENDER_NAMES = columns({
  connection: as<string | null>('c.name'),
  account: as<string | null>('a.name'),
});

/** Lists all senders with the names of their connections and accounts, for the operator. */
export async function listSenders(db: Db): Promise<(Sender & RowOf<typeof SENDER_NAMES>)[]> {
  return many(
    db,
    sql`SELECT ${SENDER}, ${SENDER_NAMES}
        FROM sender s LEFT JOIN connection c ON c.id = s.connection_id LEFT JOIN account a ON a.id = s.owner_id
        ORDER BY s.id`,
  );
}
