import pg, { type Pool } from 'pg';
import { Counter } from 'prom-client';
import { bigint, endsOf, input, insertRows, int, smallint, text, uuids } from '../core/db/columns.ts';
import { type Db, exec, many, one, onePlan, plainArray, type Sql, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import type { Metrics } from '../core/metrics.ts';
import { type Held, type HeldChunk, isUrgent, type Job, URGENT } from './held.ts';
import type { Chunk, NewChunk } from './store.ts';

/**
 * Slots of a connection's window and a share of its rate, reserved in memory for the first messages of a chunk. They are
 * used until `start` or `cancel` is called, once.
 */
type Reservation = {
  /** Number of messages that it is for, from the first. */
  readonly count: number;
  /** The key of the worker that writes them. */
  readonly owner: number;
  /** Writes the messages. The transaction that stores them, and their chunk with this id, must be committed. */
  start(chunkId: number): void;
  /**
   * Gives everything back. With `mayBeStored`, because the response to the commit was lost, the messages go to the queue
   * if they are stored: none was written.
   */
  cancel(mayBeStored: boolean): void;
};

/** Direct way from the acceptance of a single send to the binds of one connection in this process. */
export type Lane = {
  /**
   * Reserves what the first messages of a chunk need in order to be written as soon as they are stored. Returns null if
   * they have to wait: no slot is free, the rate is used up, other single sends wait, or nothing may be written.
   */
  reserve(chunk: NewChunk, jobs: () => readonly Job[]): Reservation | null;
};

/** The parts of a pump that its lane uses. */
type LanePump = {
  readonly owner: number;
  readonly held: Held;
  /** Returns true if nothing may be written now. */
  isShut(): boolean;
  /** Returns how many messages may be written without leaving more than a window in doubt after a crash. */
  freeSlots(): number;
  /** Returns true if a message lacks facts that are read with the queue. */
  mustLoad(job: Job): boolean;
  /** Takes the turn of a message; returns false if it must wait. */
  allow(job: Job, isUrgent: boolean): boolean;
  /** Gives back the turn of a message that was not written. */
  giveBackTurn(job: Job): void;
  /** Returns true if single sends may wait in the queue. */
  mayHaveUrgent(): boolean;
  /** Writes all messages of a chunk that is held. */
  writeAll(chunk: HeldChunk): void;
  /** Returns a chunk of which nothing was written to the queue. */
  giveBack(chunk: HeldChunk): void;
  /** The same for one that may be stored, by its first message. */
  giveBackUnwritten(firstId: string): void;
  /** Called when slots were reserved. */
  onReserved(): void;
  /** Called when slots were given back. */
  onFreed(): void;
};

/**
 * Creates the lane of a pump. It is closed while single sends wait, in memory or in the queue, so that no message overtakes
 * them: as soon as the window or the rate is used up, all of them wait in the queue, where accounts take turns.
 */
export function createLane(pump: LanePump): Lane & { reserved(): number } {
  let reserved = 0;
  return {
    reserved: () => reserved,
    reserve(chunk, jobs) {
      if (pump.isShut() || isClosed(pump, chunk.priority)) return null;
      const own = takeTurns(pump, chunk, jobs);
      const count = own.length;
      if (count === 0) return null;
      const giveBackTurns = (): void => {
        for (const job of own) pump.giveBackTurn(job);
        pump.onFreed();
      };
      reserved += count;
      pump.onReserved();
      return {
        count,
        owner: pump.owner,
        start(id) {
          reserved -= count;
          const held = pump.held.addWritten(toChunk(id, chunk, own), own);
          if (!pump.isShut()) return pump.writeAll(held);
          pump.held.drop(held);
          pump.giveBack(held);
          giveBackTurns();
        },
        cancel(mayBeStored) {
          reserved -= count;
          if (mayBeStored) pump.giveBackUnwritten(own[0]?.messageId ?? '');
          giveBackTurns();
        },
      };
    },
  };
}

/**
 * True if messages of this priority would overtake others that wait. Codes overtake single sends, and of codes that are
 * still in the queue none is older than the window takes to become free.
 */
const isClosed = (pump: LanePump, priority: number): boolean =>
  priority < URGENT ? pump.held.bestPriority() < URGENT : pump.mayHaveUrgent() || pump.held.bestPriority() <= URGENT;

/** Takes the turns of the first messages that a lane may write now. */
function takeTurns(pump: LanePump, { ids }: NewChunk, jobs: () => readonly Job[]): readonly Job[] {
  const free = Math.min(pump.freeSlots(), ids.length);
  if (free <= 0) return [];
  const all = jobs();
  let count = 0;
  for (; count < free; count++) {
    const job = all[count] as Job;
    if (pump.mustLoad(job) || !pump.allow(job, true)) break;
  }
  return all.slice(0, count);
}

const toChunk = (
  id: number,
  { accountId, priority, alternates = [], onUnknown = 'hold' }: NewChunk,
  jobs: readonly Job[],
): Chunk => ({
  id,
  accountId,
  ...FIRST,
  priority,
  alternates: [...alternates],
  onUnknown,
  intent: jobs.length,
  ids: jobs.map(({ messageId }) => messageId),
});

/** Express chunks never wait, so they need no turn; a retry is older than anything that was queued after it. */
const FIRST = { round: 0, attempt: 0, tries: 0, campaignId: null };

/** The lanes of the connections that have binds in this process. */
export type Express = {
  /** Opens the lane of a connection; returns the function that closes it. */
  open(connectionId: number, lane: Lane): () => void;
  /** Begins the passage of the single sends of one transaction. */
  begin(): Passage;
};

/** The single sends of one transaction that do not wait in the queue. Call `start` or `cancel` at its end. */
export type Passage = {
  /**
   * Returns how many messages of a chunk, from the first, do not wait in the queue. `jobs` is null if they have to be read
   * from there.
   */
  reserve(chunk: NewChunk, jobs: (() => readonly Job[]) | null): number;
  /** Returns the statements that store them, as claimed, in the transaction. All are sent before this returns. */
  insert(tx: Db): Promise<void>[];
  /** Writes the messages: the transaction is committed. */
  start(): void;
  /** Gives everything back after the error with which the transaction has ended. */
  cancel(error: unknown): void;
};

/** Counts single sends as they are stored. */
type CountSingles = (way: 'express' | 'queue', messages: number) => void;

export function createExpress(count: CountSingles = () => undefined): Express {
  const lanes = new Map<number, Lane>();
  return {
    open(connectionId, lane) {
      lanes.set(connectionId, lane);
      return () => {
        if (lanes.get(connectionId) === lane) lanes.delete(connectionId);
      };
    },
    begin: () => createPassage(lanes, count),
  };
}

/** A chunk of messages with a reservation, and its id once it is stored. */
type Direct = { readonly chunk: NewChunk; readonly reservation: Reservation; id: number };

function createPassage(lanes: ReadonlyMap<number, Lane>, count: CountSingles): Passage {
  const direct: Direct[] = [];
  let queued = 0;
  return {
    reserve(chunk, jobs) {
      if (!isUrgent(chunk)) return 0;
      const lane = mayPass(chunk) ? lanes.get(chunk.connectionId) : undefined;
      const reservation = (jobs && lane?.reserve(chunk, jobs)) ?? null;
      const passing = reservation?.count ?? 0;
      queued += chunk.ids.length - passing;
      if (reservation) direct.push({ chunk: { ...chunk, ids: chunk.ids.slice(0, passing) }, reservation, id: 0 });
      return passing;
    },
    insert: (tx) => (direct.length === 0 ? [] : [insertDirect(tx, direct)]),
    start() {
      for (const { reservation, id } of direct) reservation.start(id);
      const passed = direct.reduce((sum, { reservation }) => sum + reservation.count, 0);
      if (passed > 0) count('express', passed);
      if (queued > 0) count('queue', queued);
    },
    cancel(error) {
      for (const { reservation } of direct) reservation.cancel(!isRolledBack(error));
    },
  };
}

/**
 * True for a chunk that may be sent at once. Not if its route sends an unknown outcome once more: between the loss of
 * this worker's session and its notice, another worker may queue a chunk that is then written here as well.
 */
const mayPass = ({ availableAt, onUnknown = 'hold' }: NewChunk): boolean =>
  availableAt === null && onUnknown === 'hold';

/** True if an error shows that nothing was stored. One that ends the session may come after the commit. */
const isRolledBack = (error: unknown): boolean => error instanceof pg.DatabaseError && error.severity === 'ERROR';

const FIELDS = {
  accountId: bigint,
  connectionId: bigint,
  priority: smallint,
  alternates: input(text),
  onUnknown: text,
  owner: bigint,
  round: bigint,
  size: int,
  intent: int,
  last: input(int),
};

/** Stores chunks as claimed, with the intent to write all of their messages, and sets their ids. */
async function insertDirect(db: Db, direct: readonly Direct[]): Promise<void> {
  const lists = direct.map(({ chunk }) => chunk.ids);
  const ends = endsOf(lists);
  const rows = direct.map(
    ({ chunk: { accountId, connectionId, priority, alternates = [], onUnknown = 'hold', ids }, reservation }, n) => ({
      accountId,
      connectionId,
      priority,
      alternates: plainArray(alternates),
      onUnknown,
      owner: reservation.owner,
      round: FIRST.round,
      size: ids.length,
      intent: ids.length,
      last: ends[n] ?? 0,
    }),
  );
  const expressions = {
    alternates: sql`u.alternates::bigint[]`,
    ids: sql`(${uuids(lists)})[u.last - u.size + 1:u.last]`,
  };
  const stored = await many<{ id: number; first: string }>(
    db,
    onePlan(sql`${insertRows('dispatch_chunk', rows, FIELDS, expressions)}
        WHERE pg_advisory_xact_lock_shared(${lockOf(sql`u.owner`, sql`u.connection_id`)}) IS NOT NULL
        RETURNING id, ids[1] AS first`),
  );
  const idOf = new Map(stored.map(({ id, first }) => [first, id]));
  for (const each of direct) {
    const id = idOf.get(each.chunk.ids[0] ?? '');
    if (id === undefined) throw new Error('an express chunk was not stored');
    each.id = id;
  }
}

/** The lock of the transactions that store express chunks of a worker and connection, as the parameters of its functions. */
const lockOf = (owner: Sql, connectionId: Sql): Sql => sql`724911, hashint8(${owner} # ${connectionId})`;

/** Messages that were reserved and not written, and may be stored: the first of each chunk. */
type Unwritten = { readonly owner: number; readonly connectionId: number; readonly firstIds: readonly string[] };

/**
 * Queues the chunks that were stored as claimed although the response to their commit was lost. Returns false, and
 * changes nothing, while one of those transactions may still be going on.
 */
export const moveUnwrittenToQueue = (pool: Pool, unwritten: Unwritten): Promise<boolean> =>
  transaction(pool, async (tx) => {
    // A separate statement: the next one must see the rows of the transactions that held the lock.
    if (!(await hasEnded(tx, unwritten))) return false;
    await updateUnwritten(tx, unwritten);
    return true;
  });

const hasEnded = async (tx: Db, { owner, connectionId }: Unwritten): Promise<boolean> => {
  const lock = lockOf(sql`${owner}::bigint`, sql`${connectionId}::bigint`);
  return (await one<{ free: boolean }>(tx, sql`SELECT pg_try_advisory_xact_lock(${lock}) AS free`)).free;
};

async function updateUnwritten(db: Db, { owner, connectionId, firstIds }: Unwritten): Promise<void> {
  await exec(
    db,
    sql`UPDATE dispatch_chunk SET owner = NULL, intent = 0
        WHERE owner = ${owner} AND connection_id = ${connectionId} AND ids[1] = ANY(${plainArray(firstIds)}::uuid[])`,
  );
}

/** Returns a function that counts single sends by their way. */
export function countSingles({ registry }: Pick<Metrics, 'registry'>): CountSingles {
  const counter = new Counter({
    name: 'heliograph_single_sends_total',
    help: 'Single sends that were stored, by their way: written to a bind of this process at once, or over the queue',
    labelNames: ['way'] as const,
    registers: [registry],
  });
  return (way, messages) => counter.inc({ way }, messages);
}
