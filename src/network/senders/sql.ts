import { bigint, json, rowsOf, text } from '../../platform/db/columns.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';

/** The channels on which a sender is a thing of the network's, and not a text of ours. */
export type SenderChannel = Exclude<Channel, 'SMS'>;

export type Sender = {
  id: number;
  channel: SenderChannel;
  /** WhatsApp: the phone number id. RCS: the agent id. Null while it is only asked for. */
  identity: string | null;
  connectionId: number | null;
  /** Null: every account's. */
  ownerId: number | null;
  name: string;
  details: Record<string, unknown>;
  createdAt: Date;
};

const COLUMNS = sql`id, channel, identity, connection_id AS "connectionId", owner_id AS "ownerId", name, details,
                    created_at AS "createdAt"`;

/** All that messages can be sent as, for the router. */
export async function listRegisteredSenders(
  db: Db,
): Promise<{ channel: SenderChannel; identity: string; connectionId: number; ownerId: number | null }[]> {
  return many(
    db,
    sql`SELECT channel, identity, connection_id AS "connectionId", owner_id AS "ownerId" FROM sender
        WHERE identity IS NOT NULL`,
  );
}

type Usable = { accountId: number; channel: SenderChannel };

const isUsable = ({ accountId, channel }: Usable) =>
  sql`channel = ${channel} AND (owner_id = ${accountId} OR owner_id IS NULL)`;

/** A page of an account's own senders and the common ones, the oldest first. */
export async function listUsableSenders(
  db: Db,
  usable: Usable,
  { limit, offset }: { limit: number; offset: number },
): Promise<Sender[]> {
  return many(
    db,
    sql`SELECT ${COLUMNS} FROM sender WHERE ${isUsable(usable)} ORDER BY id LIMIT ${limit} OFFSET ${offset}`,
  );
}

export async function countUsableSenders(db: Db, usable: Usable): Promise<number> {
  const row = await one<{ count: number }>(db, sql`SELECT count(*) AS count FROM sender WHERE ${isUsable(usable)}`);
  return row.count;
}

export type UsableSender = { identity: string; name: string; connectionId: number };

/** A sender that the account may send as: its own, or a common one. */
export async function findUsableSender(
  db: Db,
  { accountId, channel, identity }: { accountId: number; channel: SenderChannel; identity: string },
): Promise<UsableSender | undefined> {
  return maybeOne(
    db,
    sql`SELECT identity, name, connection_id AS "connectionId" FROM sender
        WHERE ${isUsable({ accountId, channel })} AND identity = ${identity}`,
  );
}

/** Waits for whoever changes senders, until the transaction ends: who owns a connection depends on several rows. */
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

/** Registers a sender, or gives one that is registered to another connection or owner. */
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

/** Asks for an agent: it has no identity before the operator has registered it with the network. */
export async function insertRequestedSender(
  db: Db,
  s: { accountId: number; channel: SenderChannel; name: string; details: object },
): Promise<Sender> {
  return one(
    db,
    sql`INSERT INTO sender (channel, owner_id, name, details)
        VALUES (${s.channel}, ${s.accountId}, ${s.name}, ${JSON.stringify(s.details)}::jsonb) RETURNING ${COLUMNS}`,
  );
}

/** Gives an asked-for sender its identity. False when there is none of this id that waits for one. */
export async function moveSenderRegistered(
  db: Db,
  { id, identity, connectionId }: { id: number; identity: string; connectionId: number },
): Promise<{ ownerId: number } | undefined> {
  return maybeOne(
    db,
    sql`UPDATE sender SET identity = ${identity}, connection_id = ${connectionId}
        WHERE id = ${id} AND channel = 'RCS' AND identity IS NULL RETURNING owner_id AS "ownerId"`,
  );
}

/** What the network says of its numbers; those that are not registered here are left out. */
export async function moveSenderDetails(
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

export async function deleteSender(
  db: Db,
  { channel, identity }: { channel: SenderChannel; identity: string },
): Promise<Sender | undefined> {
  return maybeOne(
    db,
    sql`DELETE FROM sender WHERE channel = ${channel} AND identity = ${identity} RETURNING ${COLUMNS}`,
  );
}

/** Takes all senders of a connection away. */
export async function deleteSendersOf(db: Db, { connectionId }: { connectionId: number }): Promise<number> {
  return exec(db, sql`DELETE FROM sender WHERE connection_id = ${connectionId}`);
}

/**
 * Whose the senders of each of these connections are: one account's, or every account's (null). Connections without a
 * sender are left out.
 */
export async function listOwnersOfConnections(
  db: Db,
  { connectionIds }: { connectionIds: readonly number[] },
): Promise<{ connectionId: number; ownerId: number | null }[]> {
  return many(
    db,
    sql`SELECT DISTINCT s.connection_id AS "connectionId", s.owner_id AS "ownerId"
        FROM ${rowsOf(connectionIds, { id: bigint((id) => id) })} AS u JOIN sender s ON s.connection_id = u.id
        ORDER BY 1, 2`,
  );
}

/** All senders, for the operator. */
export async function listSenders(db: Db): Promise<(Sender & { connection: string | null; account: string | null })[]> {
  return many(
    db,
    sql`SELECT s.id, s.channel, s.identity, s.connection_id AS "connectionId", s.owner_id AS "ownerId", s.name,
               s.details, s.created_at AS "createdAt", c.name AS connection, a.name AS account
        FROM sender s LEFT JOIN connection c ON c.id = s.connection_id LEFT JOIN account a ON a.id = s.owner_id
        ORDER BY s.id`,
  );
}
