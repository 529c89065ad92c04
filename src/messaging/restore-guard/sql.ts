import { type Db, exec, many, maybeOne, one, raw, sql } from '../../platform/db/query.ts';
import { isAlive } from '../../platform/db/worker-session.ts';

/** `confirmed`: a person has decided, and no worker has come since. */
export type GuardState = 'new' | 'open' | 'paused' | 'confirmed';

export type GuardStatus = {
  state: GuardState;
  /** Why sending is paused, or was last. */
  reason: string | null;
  since: Date;
  decidedBy: string | null;
};

export async function findGuardStatus(db: Db): Promise<GuardStatus> {
  return one(db, sql`SELECT state, reason, since, decided_by AS "decidedBy" FROM fence`);
}

const LOCK = raw('724908, 1');

/** Waits for this session's turn to look and move on: the file of a machine has no lock of its own. */
export async function claimGuardTurn(session: Db): Promise<void> {
  await exec(session, sql`SELECT pg_advisory_lock(${LOCK})`);
}

export async function releaseGuardTurn(session: Db): Promise<void> {
  await exec(session, sql`SELECT pg_advisory_unlock(${LOCK})`);
}

export type DatabaseFacts = {
  state: GuardState;
  /** Of this machine; null when the database does not know it. */
  generation: number | null;
  /** The same for a cluster and its physical copies, another one after dump and restore. */
  database: string;
  /** Whether another worker that lives has found its own mark in order within the last half minute. */
  vouched: boolean;
  /** Whether anything waits that would be sent. */
  unsent: boolean;
};

/** Campaigns `c` that have messages to make, now, at their time, or on another channel. */
const UNFINISHED = sql`campaign_job j
  JOIN campaign c ON c.account_id = j.account_id AND c.id = j.campaign_id
  JOIN campaign_run r ON r.account_id = j.account_id AND r.campaign_id = j.campaign_id
  WHERE c.status IN (1, 2) AND c.cancelled_at IS NULL AND (
    c.status = 1 OR NOT r.expanded OR position('_' IN c.sending_mode) > 0 OR EXISTS (
      SELECT FROM campaign_lane l
      WHERE l.account_id = j.account_id AND l.campaign_id = j.campaign_id AND NOT l.done))`;

/** What the database says of itself to the worker `owner` of a machine. */
export async function findDatabaseFacts(
  db: Db,
  { machine, owner }: { machine: string | null; owner: number },
): Promise<DatabaseFacts> {
  return one(
    db,
    sql`SELECT f.state,
               (SELECT generation FROM fence_machine WHERE machine = ${machine}::uuid) AS generation,
               (SELECT system_identifier FROM pg_control_system()) || '/' ||
                 (SELECT oid FROM pg_database WHERE datname = current_database()) AS database,
               EXISTS (SELECT FROM fence_machine m
                       WHERE m.owner <> ${owner} AND m.seen_at > now() - interval '30 seconds'
                         AND ${isAlive(raw('m.owner'))}) AS vouched,
               EXISTS (SELECT FROM dispatch_chunk) OR EXISTS (SELECT FROM message_fallback)
                 OR EXISTS (SELECT FROM ${UNFINISHED}) AS unsent
        FROM fence f`,
  );
}

/** Raises the generation of a machine, which begins at 1. Answers it. */
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

/** Forgets machines that were away for long: one that comes back after that is asked about. */
export async function deleteOldMachines(db: Db, { days }: { days: number }): Promise<number> {
  return exec(db, sql`DELETE FROM fence_machine WHERE seen_at < now() - ${days} * interval '1 day'`);
}

/** Pauses all workers on this database. Answers whether this call did. */
export async function moveToPaused(db: Db, { reason }: { reason: string }): Promise<boolean> {
  const moved = await exec(
    db,
    sql`UPDATE fence SET state = 'paused', reason = ${reason}, since = now(), decided_by = NULL WHERE state <> 'paused'`,
  );
  return moved === 1;
}

/** Lets sending go on, as a person says. Answers whether it was paused. */
export async function moveToConfirmed(db: Db, { by }: { by: string }): Promise<boolean> {
  const moved = await exec(
    db,
    sql`UPDATE fence SET state = 'confirmed', since = now(), decided_by = ${by} WHERE state = 'paused'`,
  );
  return moved === 1;
}

/** A worker has come: from here on every other one has to fit. */
export async function moveToOpen(db: Db): Promise<void> {
  await exec(db, sql`UPDATE fence SET state = 'open', since = now() WHERE state IN ('new', 'confirmed')`);
}

export type Unsent = {
  accountId: number;
  account: string;
  messages: number;
  /** Of them, those whose time has not come. */
  scheduled: number;
  /** When the oldest was accepted. */
  oldest: Date;
};

/** The messages of a row `c` of the queue that no carrier has seen and nobody has taken back. */
const WAITING = sql`unnest(c.ids[c.intent + 1:]) AS i (id) WHERE i.id <> ALL (coalesce(c.withdrawn, '{}'))`;

/** What would be sent, by account, the most first. */
export async function listUnsent(db: Db): Promise<Unsent[]> {
  return many(
    db,
    sql`SELECT c.account_id AS "accountId", a.name AS account, sum(w.messages)::bigint AS messages,
               coalesce(sum(w.messages) FILTER (WHERE c.available_at > now()), 0)::bigint AS scheduled,
               min(w.oldest) AS oldest
        FROM dispatch_chunk c JOIN account a ON a.id = c.account_id
        CROSS JOIN LATERAL (SELECT count(*) AS messages, min(uuid_extract_timestamp(i.id)) AS oldest
                            FROM ${WAITING}) AS w
        WHERE w.messages > 0
        GROUP BY c.account_id, a.name ORDER BY messages DESC, c.account_id`,
  );
}

/** `recipients`: those for whom no message was made yet. */
export type UnsentCampaign = {
  accountId: number;
  id: number;
  name: string;
  scheduledAt: Date | null;
  recipients: number;
};

/** Campaigns of which messages are still to be made. */
export async function listUnsentCampaigns(db: Db): Promise<UnsentCampaign[]> {
  return many(
    db,
    sql`SELECT c.account_id AS "accountId", c.id, c.name, c.scheduled_at AS "scheduledAt",
               greatest(0, c.total_destinations - r.messages + (
                 SELECT count(*) FROM campaign_hop h WHERE h.account_id = c.account_id AND h.campaign_id = c.id))::bigint
                 AS recipients
        FROM ${UNFINISHED} ORDER BY c.account_id, c.id`,
  );
}

/** Waiting messages with ids below `endId`, all of one row of the queue; none when no row has any. */
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
