import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Task } from '../core/background.ts';
import {
  as,
  columns,
  constant,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  type RowOf,
  raw,
  sql,
  timeOf,
} from '../core/db/query.ts';
import { createDataDir, readIfExists } from '../core/db/startup-error.ts';
import { isOwnerAlive } from '../core/db/worker-session.ts';
import type { Log } from '../core/log.ts';
import { LINKS_CHANNEL, ROUTING_CHANNEL } from '../routing/connection-store.ts';

/**
 * The decision about sending. `go`: file and database agree. `adopt`: they disagree, and the worker may still send.
 * `wait`: sending is paused.
 */
type Verdict =
  | { readonly kind: 'go' | 'adopt' | 'wait' }
  /** The operator must decide whether queued messages may be sent. */
  | { readonly kind: 'ask'; readonly reason: string };

/**
 * Decides whether the workers of this machine may send from this database.
 *
 * @param asked whether the operator was asked because of this worker; the operator has decided when the state is no
 * longer `paused`
 */
function decideSending(mark: FoundMark | null, facts: DatabaseFacts, asked: boolean): Verdict {
  const { state, unsent, vouched } = facts;
  if (state === 'paused') return { kind: 'wait' };
  const reason = mark === null ? NEWCOMER : contradiction(mark, facts);
  if (reason === null) return { kind: 'go' };
  const welcome = mark === null && (state === 'new' || vouched);
  const settled = !unsent || welcome || asked || state === 'confirmed';
  return settled ? { kind: 'adopt' } : { kind: 'ask', reason };
}

const NEWCOMER = 'this machine has not worked on this database before, so it may be a copy or a restored backup';

/**
 * Returns the reason why mark and database disagree; null when they agree. After a crash the database may be one
 * generation ahead.
 */
function contradiction(mark: FoundMark, { generation, database }: DatabaseFacts): string | null {
  if (mark.copied) return 'DATA_DIR is a copy or was restored from a backup';
  if (mark.database !== database) return 'this is not the database that this machine last worked on';
  if (generation === null || generation < mark.generation)
    return 'the database is older than the last work of this machine: it was restored from a backup';
  return generation > mark.generation + 1 ? 'DATA_DIR is older than the database: it was restored from a backup' : null;
}

/** Keeps a worker from sending from a database that may be a restored backup or a copy. */
export type RestoreGuard = {
  /**
   * Returns true if sending is paused: then nothing may be written to a carrier, and no timer may change waiting
   * messages.
   */
  paused(): boolean;
  /** Pauses until the next check: the database was away, and the one that comes back may be a different one. */
  pauseUntilCheck(): void;
  /** Compares file and database, raises the generation and returns when to check again, in ms. One caller at a time. */
  check(): Promise<number>;
  /** Raises the generation once more, so that a backup from just before the end is recognized as one. */
  stop(): Promise<void>;
};

type RestoreGuardDeps = {
  readonly dataDir: string;
  readonly pool: Pool;
  /** The advisory lock key of this worker. */
  readonly owner: () => number;
  readonly log: Log;
};

const CHECK_INTERVAL_MS = 10_000;
const PAUSED_CHECK_INTERVAL_MS = 1000;
const MACHINE_RETENTION_DAYS = 90;

/**
 * Keeps a restored backup or a copy of a database from sending what the original has sent. DATA_DIR/restore-guard.json and the
 * database hold the same generation, which rises while a worker runs. When they disagree and messages wait to be sent,
 * all workers on the database pause until the operator has decided (`fence confirm`, `fence discard`). Which cases are
 * recognized: docs/decisions/0008-restore-fence.md.
 *
 * Sending is paused until the first check.
 */
export function createRestoreGuard({ dataDir, pool, owner, log }: RestoreGuardDeps): RestoreGuard {
  let open = false;
  let asked = false;
  let doubts = 0;

  async function compare(): Promise<void> {
    const doubtsBefore = doubts;
    const mark = await readMark(dataDir);
    const facts = await findDatabaseFacts(pool, { machine: mark?.machine ?? null, owner: owner() });
    const verdict = decideSending(mark, facts, asked);
    if (verdict.kind === 'go' || verdict.kind === 'adopt') {
      await raiseGeneration(verdict.kind === 'go' ? mark : null, facts);
      return resume(doubts === doubtsBefore);
    }
    if (verdict.kind === 'ask') await moveToPaused(pool, verdict);
    await pause();
  }

  /**
   * Raises the generation in the database first: otherwise a crash in between would look like a restore. A file that
   * such a crash has left behind catches up before the next rise, so that it is never behind by two, however often that
   * happens.
   */
  async function raiseGeneration(
    mark: FoundMark | null,
    { database, state, generation: now }: DatabaseFacts,
  ): Promise<void> {
    const machine = mark?.machine ?? randomUUID();
    if (mark !== null && now !== null && now > mark.generation)
      await writeMark(dataDir, { machine, generation: now, database });
    const { generation } = await updateGeneration(pool, { machine, owner: owner() });
    await writeMark(dataDir, { machine, generation, database });
    if (state !== 'open') await moveToOpen(pool);
    if (mark === null) await deleteOldMachines(pool, { days: MACHINE_RETENTION_DAYS });
  }

  async function pause(): Promise<void> {
    open = false;
    if (asked) return;
    asked = true;
    const { reason } = await findGuardStatus(pool);
    log.error({ reason }, ADVICE);
  }

  /** Resumes sending, unless a doubt arose after the comparison began. */
  function resume(certain: boolean): void {
    open = certain;
    if (asked) log.warn({}, 'sending resumes: the operator has decided');
    asked = false;
  }

  const guard: RestoreGuard = {
    paused: () => !open,
    pauseUntilCheck() {
      doubts++;
      open = false;
    },
    check: () => inTurn(pool, compare).then(() => (open ? CHECK_INTERVAL_MS : PAUSED_CHECK_INTERVAL_MS)),
    async stop() {
      if (open)
        await guard.check().catch((err: unknown) => log.warn({ err }, 'cannot update the restore guard at the end'));
    },
  };
  return guard;
}

const ADVICE =
  'SENDING IS PAUSED: the database may be a restored backup or a copy, and what it has queued may have been sent. ' +
  'See `npm run heliograph -- fence show`, then decide: `fence confirm` sends it, `fence discard` does not.';

/**
 * Runs `work` for one worker on the database at a time, so that the file of a machine changes together with its row.
 */
async function inTurn(pool: Pool, work: () => Promise<void>): Promise<void> {
  const session = await pool.connect();
  let broken: Error | boolean = true;
  try {
    await claimGuardTurn(session);
    await work();
    await releaseGuardTurn(session);
    broken = false;
  } finally {
    session.release(broken);
  }
}

/** Record that a machine keeps of the database it last worked on. */
type Mark = {
  readonly machine: string;
  readonly generation: number;
  readonly database: string;
};

type FoundMark = Mark & {
  /** True if the file came with a copy of the folder and was not written here. */
  readonly copied: boolean;
};

/**
 * Size of the file: less than a sector, so that a power cut leaves the old text or the new one. It is fixed, because
 * the file is written in place.
 */
const FILE_BYTES = 400;

const pathOf = (dataDir: string): string => join(dataDir, 'restore-guard.json');

/**
 * Reads DATA_DIR/restore-guard.json; null when there is no such file or its content is not valid. The mark contains the time at
 * which the file was created, which no copy keeps (cp, tar, rsync): a mark with another time is a copy. On a file
 * system that does not record that time, it is 0 everywhere.
 */
export async function readMark(dataDir: string): Promise<FoundMark | null> {
  const text = await readIfExists(pathOf(dataDir));
  if (text === undefined) return null;
  const mark = parse(text);
  if (mark === null) return null;
  const { birthtimeNs } = await stat(pathOf(dataDir), { bigint: true });
  const { born, ...rest } = mark;
  return { ...rest, copied: born !== String(birthtimeNs) };
}

type Stored = Mark & { readonly born: string };

function parse(text: string): Stored | null {
  try {
    const mark: unknown = JSON.parse(text);
    return isStored(mark) ? mark : null;
  } catch {
    return null;
  }
}

const isStored = (mark: unknown): mark is Stored =>
  typeof mark === 'object' &&
  mark !== null &&
  'machine' in mark &&
  typeof mark.machine === 'string' &&
  'generation' in mark &&
  typeof mark.generation === 'number' &&
  'database' in mark &&
  typeof mark.database === 'string' &&
  'born' in mark &&
  typeof mark.born === 'string';

/**
 * Writes DATA_DIR/restore-guard.json in place, because a new file would have another creation time. Only the owner may read it.
 * The content is on the disk when this resolves.
 */
export async function writeMark(dataDir: string, mark: Mark): Promise<void> {
  await createDataDir(dataDir);
  const file = await open(pathOf(dataDir), constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    const { birthtimeNs } = await file.stat({ bigint: true });
    const text = JSON.stringify({ ...mark, born: String(birthtimeNs) });
    await file.write(`${text.padEnd(FILE_BYTES - 1)}\n`, 0);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Checks that this database is not a restored copy. The wake covers a NOTIFY that was missed after a lost session. */
export const restoreGuardTasks = (guard: RestoreGuard): Task[] => [
  {
    name: 'restore guard',
    work: guard.check,
    wakeOn: { [LINKS_CHANNEL]: isReconnect, [ROUTING_CHANNEL]: isReconnect },
    close: guard.stop,
  },
];

const isReconnect = (payload: string): boolean => payload === '';

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
export const findGuardStatus = (db: Db): Promise<GuardStatus> =>
  one(db, sql`SELECT ${GUARD_STATUS} FROM restore_guard`);

const LOCK = raw('724908, 1');

/** Waits for this session's turn to compare and raise generations: the file of a machine has no separate lock. */
async function claimGuardTurn(session: Db): Promise<void> {
  await exec(session, sql`SELECT pg_advisory_lock(${LOCK})`);
}

async function releaseGuardTurn(session: Db): Promise<void> {
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
    generation: as<number | null>(sql`(SELECT generation FROM restore_guard_machine WHERE machine = ${machine}::uuid)`),
    /**
     * The identity of the database: the same in a cluster and its physical copies, a different one after dump and
     * restore.
     */
    database: as<string>(`(SELECT system_identifier FROM pg_control_system()) || '/' ||
                 (SELECT oid FROM pg_database WHERE datname = current_database())`),
    /** True if another live worker has found its own mark in order within the last half minute. */
    vouched: as<boolean>(sql`EXISTS (SELECT FROM restore_guard_machine m
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
): Promise<DatabaseFacts> => one(db, sql`SELECT ${databaseFacts(machine, owner)} FROM restore_guard f`);

/** Raises the generation of a machine, which begins at 1, and returns it. */
export async function updateGeneration(
  db: Db,
  { machine, owner }: { machine: string; owner: number },
): Promise<{ generation: number }> {
  return one(
    db,
    sql`INSERT INTO restore_guard_machine AS m (machine, generation, owner) VALUES (${machine}, 1, ${owner})
        ON CONFLICT (machine) DO UPDATE SET generation = m.generation + 1, owner = excluded.owner, seen_at = now()
        RETURNING generation`,
  );
}

/**
 * Deletes machines that were away for `days`: if one of them returns later, the operator is asked. Returns how many.
 */
export async function deleteOldMachines(db: Db, { days }: { days: number }): Promise<number> {
  return exec(db, sql`DELETE FROM restore_guard_machine WHERE seen_at < now() - ${days} * interval '1 day'`);
}

/** Pauses all workers on this database. Returns whether this call did. */
export async function moveToPaused(db: Db, { reason }: { reason: string }): Promise<boolean> {
  const moved = await exec(
    db,
    sql`UPDATE restore_guard SET state = 'paused', reason = ${reason}, since = now(), decided_by = NULL WHERE state <> 'paused'`,
  );
  return moved === 1;
}

/** Lets sending resume by decision of the operator. Returns whether it was paused. */
export async function moveToConfirmed(db: Db, { by }: { by: string }): Promise<boolean> {
  const moved = await exec(
    db,
    sql`UPDATE restore_guard SET state = 'confirmed', since = now(), decided_by = ${by} WHERE state = 'paused'`,
  );
  return moved === 1;
}

/** Records that a worker sends: from now on every other machine has to agree with the database. */
async function moveToOpen(db: Db): Promise<void> {
  await exec(db, sql`UPDATE restore_guard SET state = 'open', since = now() WHERE state IN ('new', 'confirmed')`);
}

/** The messages of a chunk `c` that no carrier has seen and that were not withdrawn. */
const WAITING = sql`unnest(c.ids[c.intent + 1:]) AS i (id) WHERE i.id <> ALL (coalesce(c.withdrawn, '{}'))`;

const UNSENT = columns({
  accountId: as<number>('c.account_id'),
  account: as<string>('a.name'),
  messages: as<number>('sum(w.messages)::bigint'),
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
                 SELECT count(*) FROM campaign_fallback h WHERE h.account_id = c.account_id AND h.campaign_id = c.id))::bigint`),
});
export type UnsentCampaign = RowOf<typeof UNSENT_CAMPAIGN>;

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
