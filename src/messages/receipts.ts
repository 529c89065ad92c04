import type { Pool, PoolClient } from 'pg';
import { keepForOthers } from '../accounts/accounts.ts';
import type { Receipt } from '../channels/carrier.ts';
import {
  createGatherer,
  every,
  type Signal,
  SMALL_BATCH,
  type Task,
  untilIdle,
  whenDue,
  yieldToSingles,
} from '../core/background.ts';
import { groupCommit, repeatedTransaction } from '../core/db/transaction.ts';
import type { Log } from '../core/log.ts';
import { HOUR_MS, SECOND_MS } from '../core/time.ts';
import * as db from './receipt-store.ts';
import {
  deleteOldUnmatched,
  findNextUnmatchedMs,
  insertReceiptBatches,
  type Match,
  matchReceipts,
  RECEIPTS_CHANNEL,
  storable,
} from './receipt-store.ts';
import { type MatchedReceipt, receiveReceipts } from './settle.ts';
import { deleteOldNameless, matchUnknowns } from './unknown-outcomes.ts';

type ReceiptIntakeDeps = {
  readonly pool: Pool;
  readonly now: () => Date;
  readonly log: Log;
  /** Called after receipts were committed to the inbox, for a worker to settle. */
  readonly onStored: () => void;
  /** Called after receipts were parked, which are to be tried again soon. */
  readonly onParked: () => void;
  readonly onMatched?: OnMatched | undefined;
  /**
   * Resolves when the outcomes that have arrived over these connections are committed: the receipts may belong to them.
   */
  readonly untilSettled?: (connectionIds: ReadonlySet<number>) => Promise<unknown>;
};

/** Takes a receipt of a connection. The promise resolves when it is committed. */
export type TakeReceipt = (arrived: { readonly connectionId: number; readonly receipt: Receipt }) => Promise<void>;

/** Receipts that are committed together, and the promise that resolves for all of them. */
type Batch = { readonly arrived: Arrived[]; readonly receivedAt: Date; readonly committed: Promise<void> };

const MAX_RECEIPTS_PER_BATCH = 1000;
/** Time after the last receipt in which no other one is expected. */
const QUIET_MS = 5;
/**
 * Limit of receipts behind a batch; above it, the batch goes to the inbox, which takes a tenth of the time: carriers
 * wait for a quarter of a second at most when the database is slower than they are.
 */
const MAX_BEHIND = 5000;
/**
 * Time after a failure in which nothing is settled immediately: the database has just failed at it.
 */
const RECOVERY_MS = 1000;

/**
 * Creates the intake of receipts: it matches and settles them in one transaction and then resolves their promise, and
 * only then may the carrier get its response. Receipts that arrive while a commit is in progress go into the next one
 * together and share its promise, because a promise per receipt costs measurable CPU time. A small batch waits for more
 * (`createGatherer`), because only the carrier waits for it.
 *
 * Receipts that cannot be settled now, because their transaction fails or because too many wait, are committed to the
 * inbox instead, from where the task `receipts` of any worker settles them. When this fails too, the promise rejects:
 * then the carrier must get no response, and will send them again.
 */
export function createReceiptIntake(deps: ReceiptIntakeDeps): TakeReceipt {
  const { pool, now, log } = deps;
  /** The batch that still accepts receipts. */
  let open: Batch | null = null;
  /** Receipts that are not committed yet. */
  let waiting = 0;
  let settlesFrom = 0;
  const gatherer = createGatherer<number>(QUIET_MS);

  const commitInTurn = groupCommit<Arrived[], void>({
    maxItems: 1,
    inFlight: 1,
    async flush(batches) {
      for (const arrived of batches) {
        if (arrived.length < SMALL_BATCH) await gatherer.gather();
        if (open?.arrived === arrived) open = null;
        const beganAt = performance.now();
        await commit(arrived).finally(() => {
          waiting -= arrived.length;
        });
        if (arrived.length >= SMALL_BATCH) await yieldToSingles(beganAt);
      }
      return batches.map(() => undefined);
    },
  });

  async function commit(arrived: readonly Arrived[]): Promise<void> {
    const overloaded = waiting - arrived.length > MAX_BEHIND;
    if (overloaded || performance.now() < settlesFrom) return store(arrived);
    try {
      await deps.untilSettled?.(new Set(arrived.map(({ connectionId }) => connectionId)));
      if ((await settleReceipts(pool, arrived, now(), deps.onMatched)) > 0) deps.onParked();
    } catch (err) {
      log.warn({ err, count: arrived.length }, 'receipts cannot be settled immediately: they go through the inbox');
      await store(arrived).finally(() => {
        settlesFrom = performance.now() + RECOVERY_MS;
      });
    }
  }

  async function store(arrived: readonly Arrived[]): Promise<void> {
    const own = Map.groupBy(arrived, ({ connectionId }) => connectionId);
    await insertReceiptBatches(
      pool,
      [...own].map(([connectionId, some]) => ({ connectionId, receipts: some.map(({ receipt }) => receipt) })),
    );
    deps.onStored();
  }

  function openBatch(): Batch {
    const arrived: Arrived[] = [];
    return { arrived, receivedAt: now(), committed: commitInTurn(arrived) };
  }

  return ({ connectionId, receipt }) => {
    const { arrived, receivedAt, committed } = (open ??= openBatch());
    arrived.push({ connectionId, receipt: storable(receipt), receivedAt });
    gatherer.add(connectionId);
    waiting += 1;
    if (arrived.length === MAX_RECEIPTS_PER_BATCH) open = null;
    return committed;
  };
}

const MAX_BATCHES = 8;
const MAX_PARKED = 1000;
/** Parked receipts are tried a thousand at a time, then 32, then one. */
const FEWER = 32;
const FIRST_RETRY_MS = 100;
/** Limit of a statement while a carrier waits: rows may be locked, or the database be busy. */
const MAX_STATEMENT_MS = 2000;

/** A receipt with its connection and time of arrival. */
type Arrived = { readonly connectionId: number; readonly receipt: Receipt; readonly receivedAt: Date };
type Rest<A extends Arrived> = { readonly arrived: A; readonly reason: db.Unmatched['reason'] };
/** Receipts divided into those that matched a message and the others with the reason. */
type Matched<A extends Arrived> = {
  readonly found: A[];
  readonly receipts: MatchedReceipt[];
  readonly rest: Rest<A>[];
};

/**
 * Settles receipts that have just arrived: matches them, moves the messages, and parks receipts that match none, in one
 * transaction. Rejects when a statement takes more than two seconds, and then nothing has changed.
 *
 * @returns the number of receipts that were parked
 */
export async function settleReceipts(
  pool: Pool,
  arrived: readonly Arrived[],
  now: Date,
  onMatched?: OnMatched,
): Promise<number> {
  const { parked, receipts } = await repeatedTransaction(pool, async (tx) => {
    const [, settled] = await Promise.all([db.setStatementTimeoutMs(tx, MAX_STATEMENT_MS), settle(tx, arrived, now)]);
    return settled;
  });
  onMatched?.(receipts);
  return parked;
}

/** Called after commit with the receipts that matched a message. */
export type OnMatched = (receipts: readonly MatchedReceipt[]) => void;

type Settled = { readonly parked: number; readonly receipts: readonly MatchedReceipt[] };

async function settle(tx: PoolClient, arrived: readonly Arrived[], now: Date): Promise<Settled> {
  const { receipts, rest } = await matchAll(arrived, (id, own) => match(tx, id, own, now));
  const unmatched = rest.map(({ arrived: a, reason }) => ({ ...a, reason, retryMs: FIRST_RETRY_MS }));
  if (unmatched.length > 0) await db.insertUnmatched(tx, unmatched);
  await receiveServed(tx, receipts);
  return { parked: unmatched.length, receipts };
}

/** Keeps the receipts of accounts that are not served here for the cell where they are, and receives the others. */
async function receiveServed(tx: PoolClient, receipts: readonly MatchedReceipt[]): Promise<void> {
  const served = await keepForOthers(tx, 'receipt', receipts, ({ receipt }) => db.receiptsJson([receipt]));
  if (served.length > 0) await receiveReceipts(tx, served);
}

type Left = {
  /** Called when parked receipts are to be tried again soon. */
  readonly onParked?: () => void;
  /** Called with the error that keeps receipts from being settled. They stay parked. */
  readonly onFailure?: (error: unknown) => void;
  readonly onMatched?: OnMatched | undefined;
};

/**
 * Processes the inbox, which holds receipts that could not be settled when they arrived: takes batches and settles
 * their receipts in one transaction. When that fails, it tries the oldest batch alone, and parks its receipts when that
 * fails too, so that a receipt which cannot be processed holds up no others.
 *
 * @returns the number of receipts
 */
export async function processReceipts(pool: Pool, now: () => Date, left: Left = {}): Promise<number> {
  const { count, parked, receipts } = await processBatches(pool, now, MAX_BATCHES)
    .catch(() => processBatches(pool, now, 1))
    .catch((error: unknown) => parkOldestBatch(pool).finally(() => left.onFailure?.(error)));
  if (parked > 0) left.onParked?.();
  left.onMatched?.(receipts);
  return count;
}

type Processed = Settled & { readonly count: number };

function processBatches(pool: Pool, now: () => Date, limit: number): Promise<Processed> {
  return repeatedTransaction(pool, async (tx) => {
    const arrived = arrivedIn(await db.deleteReceiptBatches(tx, limit));
    return { count: arrived.length, ...(await settle(tx, arrived, now())) };
  });
}

function parkOldestBatch(pool: Pool): Promise<Processed> {
  return repeatedTransaction(pool, async (tx) => {
    const arrived = arrivedIn(await db.deleteReceiptBatches(tx, 1));
    const rows = arrived.map((a) => ({ ...a, reason: 'unknown' as const, retryMs: FIRST_RETRY_MS }));
    if (rows.length > 0) await db.insertUnmatched(tx, rows);
    return { count: rows.length, parked: rows.length, receipts: [] };
  });
}

const arrivedIn = (batches: readonly db.ReceiptBatch[]): Arrived[] =>
  batches.flatMap(({ receipts, connectionId, receivedAt }) =>
    receipts.map((receipt) => ({ connectionId, receipt, receivedAt })),
  );

/**
 * Retries the parked receipts that are due: a receipt may arrive before the response to its submit is recorded. When
 * that fails, it tries fewer, and in the end only the one that has been due longest, which is postponed when it fails.
 *
 * @returns the number of receipts
 */
export function retryUnmatched(pool: Pool, now: () => Date, left: Left = {}, limit = MAX_PARKED): Promise<number> {
  return retryOldest(pool, now, limit).then(
    ({ count, receipts }) => {
      left.onMatched?.(receipts);
      return count;
    },
    (error: unknown) =>
      limit > 1
        ? retryUnmatched(pool, now, left, Math.ceil(limit / FEWER))
        : postponeOldest(pool).finally(() => left.onFailure?.(error)),
  );
}

function retryOldest(pool: Pool, now: () => Date, limit: number): Promise<Omit<Processed, 'parked'>> {
  return repeatedTransaction(pool, async (tx) => {
    const parked = await db.claimUnmatched(tx, limit);
    const { found, receipts, rest } = await matchAll(parked, (id, own) => matchWithUnknowns(tx, id, own, now()));
    const foundIds = found.map(({ id }) => id);
    if (foundIds.length > 0) await db.deleteUnmatched(tx, foundIds);
    const later = rest.map(({ arrived: { id }, reason }) => ({ id, reason }));
    if (later.length > 0) await db.updateUnmatchedRetry(tx, later);
    await receiveServed(tx, receipts);
    return { count: parked.length, receipts };
  });
}

function postponeOldest(pool: Pool): Promise<number> {
  return repeatedTransaction(pool, async (tx) => {
    const parked = await db.claimUnmatched(tx, 1);
    if (parked.length > 0) await db.updateUnmatchedRetry(tx, parked);
    return parked.length;
  });
}

type Matcher = (connectionId: number, arrived: readonly Arrived[]) => Promise<Match[]>;

async function matchAll<A extends Arrived>(arrived: readonly A[], matcher: Matcher): Promise<Matched<A>> {
  const result: Matched<A> = { found: [], receipts: [], rest: [] };
  for (const [connectionId, own] of Map.groupBy(arrived, (a) => a.connectionId)) {
    const matches = await matcher(connectionId, own);
    own.forEach((a, i) => addMatch(a, matches[i] ?? { kind: 'unknown' }, result));
  }
  return result;
}

const match = (tx: PoolClient, connectionId: number, arrived: readonly Arrived[], now: Date): Promise<Match[]> =>
  matchReceipts(
    tx,
    connectionId,
    arrived.map((a) => a.receipt),
    now,
  );

/** Matches receipts; one whose id fits no message may belong to a submit that never got a response. */
async function matchWithUnknowns(
  tx: PoolClient,
  connectionId: number,
  arrived: readonly Arrived[],
  now: Date,
): Promise<Match[]> {
  const matches = await match(tx, connectionId, arrived, now);
  const strays = arrived.filter((_, i) => matches[i]?.kind === 'unknown');
  if (strays.length === 0) return matches;
  const resolved = await matchUnknowns(tx, connectionId, strays, async () =>
    (await match(tx, connectionId, strays, now)).map(({ kind }) => kind === 'unknown'),
  );
  let next = 0;
  return matches.map((one) => (one.kind === 'unknown' ? (resolved[next++] ?? one) : one));
}

function addMatch<A extends Arrived>(arrived: A, found: Match, result: Matched<A>): void {
  if (found.kind !== 'hit') return void result.rest.push({ arrived, reason: found.kind });
  const { accountId, messageId, part } = found;
  const { connectionId, receivedAt } = arrived;
  // Most carriers quote the beginning of the text.
  const receipt = found.erased ? { ...arrived.receipt, raw: '' } : arrived.receipt;
  result.found.push(arrived);
  result.receipts.push({ accountId, messageId, part, connectionId, receivedAt, receipt });
}

type ReceiptTaskDeps = {
  readonly pool: Pool;
  readonly now: () => Date;
  readonly log: Log;
  /** Raised when this process has put receipts into the inbox. */
  readonly receiptsStored: Signal;
  /** Raised when this process has parked receipts. */
  readonly receiptsParked: Signal;
  readonly onMatched?: OnMatched | undefined;
};

/**
 * Days to keep parked receipts: a receipt is matched for as long as its message may have one (48 h), and parked for
 * seven days more.
 */
const UNMATCHED_DAYS = 9;

/**
 * Settles the receipts that could not be settled when they arrived. Woken by arrivals; the waits are for rows that a
 * dead worker left behind.
 */
export function receiptTasks({ pool, now, log, receiptsStored, receiptsParked, onMatched }: ReceiptTaskDeps): Task[] {
  const onFailure = (err: unknown): void => log.error({ err }, 'a receipt cannot be processed: it stays parked');
  return [
    {
      name: 'receipts',
      work: untilIdle(
        () => processReceipts(pool, now, { onParked: receiptsParked.raise, onFailure, onMatched }),
        2 * SECOND_MS,
      ),
      wakeOn: { [RECEIPTS_CHANNEL]: (left) => left !== 'parked' },
      signal: receiptsStored,
    },
    {
      name: 'unmatched receipts',
      work: whenDue(
        () => retryUnmatched(pool, now, { onFailure, onMatched }),
        () => findNextUnmatchedMs(pool),
        10 * SECOND_MS,
      ),
      wakeOn: { [RECEIPTS_CHANNEL]: (left) => left !== 'stored' },
      signal: receiptsParked,
    },
    {
      name: 'old receipts',
      work: every(HOUR_MS, async () => {
        await deleteOldUnmatched(pool, UNMATCHED_DAYS);
        await deleteOldNameless(pool, UNMATCHED_DAYS);
      }),
    },
  ];
}
