import { timeOf } from '../../platform/db/id-time.ts';
import { constant, type Db, exec, many, maybeOne, one, raw, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import { isOwnerAlive } from '../../platform/db/worker-session.ts';

/**
 * The state of the guard in a database: `new` before the first worker, `open` while workers send, `paused` until the
 * operator decides, `confirmed` from that decision until the next worker starts.
 */
export type GuardState = 'new' | 'open' | 'paused' | 'confirmed';

const GUARD_STATUS = columns({
  state: as<GuardState>('state'),
  /** Reason why sending is paused, or last was. */
  reason: as<string | null>('reason'),
  since: as<Date>('since'),
  decidedBy: as<string | null>('decided_by'),
});
/** The state of the guard, its start, and the person who decided. */
export type GuardStatus = RowOf<typeof GUARD_STATUS>;

/** Finds the state of the guard in this database. */
export const findGuardStatus = (db: Db): Promise<GuardStatus> => one(db, sql`SELECT ${GUARD_STATUS} FROM fence`);

const LOCK = raw('724908, 1');

/** Waits for this session's turn to compare and raise generations: the file of a machine has no separate lock. */
export async function claimGuardTurn(session: Db): Promise<void> {
  await exec(session, sql`SELECT pg_advisory_lock(${LOCK})`);
}

/** Ends this session's turn. */
export async function releaseGuardTurn(session: Db): Promise<void> {
  await exec(session, sql`SELECT pg_advisory_unlock(${LOCK})`);
}

/** The codes READY and SENDING of campaigns, whose room (engagement) is above this one. */
const CAMPAIGN_READY = constant(1);
const CAMPAIGN_SENDING = constant(2);

/** The FROM and WHERE of campaigns `c` that have messages to make: now, at their time, or on another channel. */
const UNFINISHED = sql`campaign_job j
  JOIN campaign c ON c.account_id = j.account_id AND c.id = j.campaign_id
  JOIN campaign_run r ON r.account_id = j.account_id AND r.campaign_id = j.campaign_id
  WHERE c.status IN (${CAMPAIGN_READY}, ${CAMPAIGN_SENDING}) AND c.cancelled_at IS NULL AND (
    c.status = ${CAMPAIGN_READY} OR NOT r.expanded OR position('_' IN c.sending_mode) > 0 OR EXISTS (
      SELECT FROM campaign_lane l
      WHERE l.account_id = j.account_id AND l.campaign_id = j.campaign_id AND NOT l.done))`;

const databaseFacts = (machine: string | null, owner: number) =>
  columns({
    state: as<GuardState>('f.state'),
    /** The generation of this machine; null when the database does not know the machine. */
    generation: as<number | null>(sql`(SELECT generation FROM fence_machine WHERE machine = ${machine}::uuid)`),
    /**
     * The identity of the database: the same in a cluster and its physical copies, a different one after dump and
     * restore.
     */
    database: as<string>(`(SELECT system_identifier FROM pg_control_system()) || '/' ||
                 (SELECT oid FROM pg_database WHERE datname = current_database())`),
    /** True if another live worker has found its own mark in order within the last half minute. */
    vouched: as<boolean>(sql`EXISTS (SELECT FROM fence_machine m
                       WHERE m.owner <> ${owner} AND m.seen_at > now() - interval '30 seconds'
                         AND ${isOwnerAlive(raw('m.owner'))})`),
    /** True if any waiting message would be sent. */
    unsent: as<boolean>(sql`EXISTS (SELECT FROM dispatch_chunk) OR EXISTS (SELECT FROM message_fallback)
                 OR EXISTS (SELECT FROM ${UNFINISHED})`),
  });
/** Facts that a database holds about itself and about one machine. */
export type DatabaseFacts = RowOf<ReturnType<typeof databaseFacts>>;

/** Finds the facts by which the worker `owner` of a machine decides whether it may send. */
export const findDatabaseFacts = (
  db: Db,
  { machine, owner }: { machine: string | null; owner: number },
): Promise<DatabaseFacts> => one(db, sql`SELECT ${databaseFacts(machine, owner)} FROM fence f`);

/** Raises the generation of a machine, which begins at 1, and returns it. */
export async function updateGeneration(
  db: Db,
  { machine, owner }: { machine: string; owner: number },
): Promise<{ generation: number }> {
  return one(
    db,
    sql`INSERT INTO fence_machine AS m (machine, generation, owner) VALUES (${machine}, 1, ${owner})
        ON CONFLICT (machine) DO UPDATE SET generation = m.generation + 1, owner = excluded.owner, seen_at = now()
        RETURNING generation`,
  );
}

/**
 * Deletes machines that were away for `days`: if one of them returns later, the operator is asked. Returns how many.
 */
export async function deleteOldMachines(db: Db, { days }: { days: number }): Promise<number> {
  return exec(db, sql`DELETE FROM fence_machine WHERE seen_at < now() - ${days} * interval '1 day'`);
}

/** Pauses all workers on this database. Returns whether this call did. */
export async function moveToPaused(db: Db, { reason }: { reason: string }): Promise<boolean> {
  const moved = await exec(
    db,
    sql`UPDATE fence SET state = 'paused', reason = ${reason}, since = now(), decided_by = NULL WHERE state <> 'paused'`,
  );
  return moved === 1;
}

/** Lets sending resume by decision of the operator. Returns whether it was paused. */
export async function moveToConfirmed(db: Db, { by }: { by: string }): Promise<boolean> {
  const moved = await exec(
    db,
    sql`UPDATE fence SET state = 'confirmed', since = now(), decided_by = ${by} WHERE state = 'paused'`,
  );
  return moved === 1;
}

/** Records that a worker sends: from now on every other machine has to agree with the database. */
export async function moveToOpen(db: Db): Promise<void> {
  await exec(db, sql`UPDATE fence SET state = 'open', since = now() WHERE state IN ('new', 'confirmed')`);
}

/** The messages of a chunk `c` that no carrier has seen and that were not withdrawn. */
const WAITING = sql`unnest(c.ids[c.intent + 1:]) AS i (id) WHERE i.id <> ALL (coalesce(c.withdrawn, '{}'))`;

const UNSENT = columns({
  accountId: as<number>('c.account_id'),
  account: as<string>('a.name'),
  messages: as<number>('sum(w.messages)::bigint'),
  /** Number of the messages that are scheduled for later. */
  scheduled: as<number>('coalesce(sum(w.messages) FILTER (WHERE c.available_at > now()), 0)::bigint'),
  /** Time at which the oldest message was accepted. */
  oldest: as<Date>('min(w.oldest)'),
});
/** The messages of one account that would be sent. */
export type Unsent = RowOf<typeof UNSENT>;

/** Lists the messages that would be sent, by account, the account with the most messages first. */
export const listUnsent = (db: Db): Promise<Unsent[]> =>
  many(
    db,
    sql`SELECT ${UNSENT}
        FROM dispatch_chunk c JOIN account a ON a.id = c.account_id
        CROSS JOIN LATERAL (SELECT count(*) AS messages, min(${timeOf(sql`i.id`)}) AS oldest
                            FROM ${WAITING}) AS w
        WHERE w.messages > 0
        GROUP BY c.account_id, a.name ORDER BY messages DESC, c.account_id`,
  );

const UNSENT_CAMPAIGN = columns({
  accountId: as<number>('c.account_id'),
  id: as<number>('c.id'),
  name: as<string>('c.name'),
  scheduledAt: as<Date | null>('c.scheduled_at'),
  /** Number of recipients without a message so far. */
  recipients: as<number>(`greatest(0, c.total_destinations - r.messages + (
                 SELECT count(*) FROM campaign_hop h WHERE h.account_id = c.account_id AND h.campaign_id = c.id))::bigint`),
});
/** A campaign that has messages to make. */
export type UnsentCampaign = RowOf<typeof UNSENT_CAMPAIGN>;

/** Lists the campaigns that have messages to make. */
export const listUnsentCampaigns = (db: Db): Promise<UnsentCampaign[]> =>
  many(db, sql`SELECT ${UNSENT_CAMPAIGN} FROM ${UNFINISHED} ORDER BY c.account_id, c.id`);

/** Lists waiting messages with ids below `endId` of one chunk; none when no chunk has any. */
export async function listWaiting(db: Db, { endId }: { endId: string }): Promise<{ accountId: number; id: string }[]> {
  const row = await maybeOne<{ accountId: number; ids: string }>(
    db,
    sql`SELECT c.account_id AS "accountId", array_to_string(w.ids, ',') AS ids
        FROM dispatch_chunk c
        CROSS JOIN LATERAL (SELECT array_agg(i.id) AS ids FROM ${WAITING} AND i.id < ${endId}::uuid) AS w
        WHERE w.ids IS NOT NULL LIMIT 1`,
  );
  return row === undefined ? [] : row.ids.split(',').map((id) => ({ accountId: row.accountId, id }));
}
