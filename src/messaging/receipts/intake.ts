import type { Pool } from 'pg';
import type { Receipt } from '../../carriers/events.ts';
import { groupCommit } from '../../platform/db/group-commit.ts';
import { giveWay } from '../../platform/lib/background/give-way.ts';
import { lingerAfter, SMALL_BATCH } from '../../platform/lib/background/linger.ts';
import type { Log } from '../../platform/lib/log.ts';
import { type Arrived, type OnMatched, settleReceipts } from './process.ts';
import { insertReceiptBatches, storable } from './sql.ts';

export type ReceiptIntakeDeps = {
  readonly pool: Pool;
  readonly now: () => Date;
  readonly log: Log;
  /** Called after receipts were committed to the inbox, for a worker to settle. */
  readonly onStored: () => void;
  /** Called after receipts were parked, which are to be tried again soon. */
  readonly onParked: () => void;
  readonly onMatched?: OnMatched | undefined;
};

/** Takes a receipt of a connection. The promise resolves when it is committed. */
export type TakeReceipt = (arrived: { readonly connectionId: number; readonly receipt: Receipt }) => Promise<void>;

/** Receipts that are committed together, and the promise that resolves for all of them. */
type Batch = { readonly arrived: Arrived[]; readonly receivedAt: Date; readonly committed: Promise<void> };

const MAX_RECEIPTS_PER_BATCH = 1000;
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
 * together and share its promise, because a promise per receipt costs measurable CPU time. A small batch waits until 5
 * ms after the beginning of the one before, because only the carrier waits for it.
 *
 * Receipts that cannot be settled now, because their transaction fails or because too many wait, are committed to the
 * inbox instead, from where the task `receipts` of any worker settles them. When this fails too, the promise rejects:
 * then the carrier must get no response, and will send them again.
 */
export function createReceiptIntake(deps: ReceiptIntakeDeps): TakeReceipt {
  const { pool, now, log } = deps;
  /** The batch that still accepts receipts. */
  let open: Batch | null = null;
  let last = { count: 0, beganAt: 0 };
  /** Receipts that are not committed yet. */
  let waiting = 0;
  let settlesFrom = 0;

  const commitInTurn = groupCommit<Arrived[], void>({
    maxItems: 1,
    inFlight: 1,
    async flush(batches) {
      for (const arrived of batches) {
        await lingerAfter(Math.max(arrived.length, last.count), last.beganAt);
        if (open?.arrived === arrived) open = null;
        last = { count: arrived.length, beganAt: performance.now() };
        await commit(arrived).finally(() => {
          waiting -= arrived.length;
        });
        if (arrived.length >= SMALL_BATCH) await giveWay(last.beganAt);
      }
      return batches.map(() => undefined);
    },
  });

  async function commit(arrived: readonly Arrived[]): Promise<void> {
    const overloaded = waiting - arrived.length > MAX_BEHIND;
    if (overloaded || performance.now() < settlesFrom) return store(arrived);
    try {
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
    waiting += 1;
    if (arrived.length === MAX_RECEIPTS_PER_BATCH) open = null;
    return committed;
  };
}
