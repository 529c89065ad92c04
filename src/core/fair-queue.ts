import { AppError } from './errors.ts';
import { faultPoint } from './faults.ts';

/** A held slot of a fair queue. Disposing of it gives the slot to the next account; disposing again has no effect. */
export type Slot = Disposable;

/** A participant that takes turns: an account, or a name for something else, such as a network. */
export type Turner = number | string;

type EnterOptions = {
  /**
   * Cost of the work: the cheapest waiting work of one account goes first. In any unit, the same for all work of the
   * queue.
   */
  readonly cost?: number;
  /** True: takes its turn before all work that is not urgent, of any account. */
  readonly urgent?: boolean;
  /** Ends the wait: `enter` then rejects with the reason of the signal. A held slot is not affected. */
  readonly signal?: AbortSignal;
};

/** Gives out slots to accounts in turn. */
export type FairQueue = {
  /**
   * Resolves as soon as a slot is free and it is the account's turn. Rejects with 429 if `maxWaiting` pieces of the
   * account's work wait already.
   */
  enter(account: Turner, options?: EnterOptions): Promise<Slot>;
  /** Runs the work while it holds a slot. */
  run<T>(account: Turner, work: () => Promise<T>, options?: EnterOptions): Promise<T>;
};

/** Purpose of a queue, by which a proof removes its turns. */
type QueueName = 'database' | 'passwords';
/** The queues with a name, as they are created. */
export const TURNS = faultPoint<{ readonly name: QueueName; readonly queue: FairQueue }>();

type FairQueueOptions = {
  readonly name?: QueueName;
  readonly size: number;
  /** Maximum slots of one account, so that another one finds a slot without having to wait for the first. */
  readonly perAccount: number;
  /** Maximum waiting work of one account; by default 1,000 pieces, which bounds the memory that it can take. */
  readonly maxWaiting?: number;
};

/** Maximum waiting pieces of work of one account in a queue that sets no other. */
export const MAX_WAITING = 1000;

type Waiting = { readonly cost: number; readonly urgent: boolean; readonly begin: () => void };

/**
 * Creates a queue of `size` slots. A free slot goes to the account that holds the fewest; among equal ones, to the one
 * whose last turn is longest ago. An account with much work therefore delays another one by at most one piece of it.
 */
export function createFairQueue({ name, size, perAccount, maxWaiting = MAX_WAITING }: FairQueueOptions): FairQueue {
  const held = new Map<Turner, number>();
  /** Waiting work by account, in the order of the turns. */
  const turns = new Map<Turner, Waiting[]>();
  let free = size;
  const heldBy = (account: Turner): number => held.get(account) ?? 0;

  function next(): Turner | undefined {
    let best: Turner | undefined;
    let bestRank = Number.POSITIVE_INFINITY;
    for (const [account, [first]] of turns) {
      const holds = heldBy(account);
      const rank = holds + (first?.urgent === true ? 0 : size);
      if (holds >= perAccount || rank >= bestRank) continue;
      best = account;
      bestRank = rank;
      if (rank === 0) break;
    }
    return best;
  }

  function giveOut(): void {
    while (free > 0) {
      const account = next();
      const waiting = account === undefined ? undefined : turns.get(account);
      const first = waiting?.shift();
      if (account === undefined || waiting === undefined || first === undefined) return;
      moveToEnd(account, waiting);
      take(account);
      first.begin();
    }
  }

  function take(account: Turner): void {
    free--;
    held.set(account, heldBy(account) + 1);
  }

  /** Makes the account's next turn come after those of all others. */
  function moveToEnd(account: Turner, waiting: Waiting[] | undefined): void {
    turns.delete(account);
    if (waiting && waiting.length > 0) turns.set(account, waiting);
  }

  function leave(account: Turner): void {
    const left = heldBy(account) - 1;
    if (left > 0) held.set(account, left);
    else held.delete(account);
    if (turns.size > 0) moveToEnd(account, turns.get(account));
    free++;
    giveOut();
  }

  function slotOf(account: Turner): Slot {
    let isHeld = true;
    return {
      [Symbol.dispose]() {
        if (isHeld) leave(account);
        isHeld = false;
      },
    };
  }

  function wait(account: Turner, entry: Waiting): void {
    const waiting = turns.get(account) ?? [];
    if (waiting.length >= maxWaiting)
      throw new AppError('rate_limited', {
        message: 'Too many requests of this account are waiting',
        retryAfterSeconds: 1,
      });
    const isLast = (waiting.at(-1)?.cost ?? 0) <= entry.cost;
    const at = isLast ? -1 : waiting.findIndex(({ cost }) => cost > entry.cost);
    waiting.splice(at < 0 ? waiting.length : at, 0, entry);
    turns.set(account, waiting);
  }

  function giveUp(account: Turner, entry: Waiting): void {
    const left = (turns.get(account) ?? []).filter((each) => each !== entry);
    if (left.length > 0) turns.set(account, left);
    else turns.delete(account);
  }

  async function waitForTurn(account: Turner, { cost = 0, urgent = false, signal }: EnterOptions): Promise<Slot> {
    const { promise: begun, resolve: begin, reject } = Promise.withResolvers<void>();
    // Before the account's other work, too: unauthenticated clients behind one address share its turns with a customer.
    const entry: Waiting = { cost: urgent ? Number.NEGATIVE_INFINITY : cost, urgent, begin };
    const onAbort = (): void => {
      giveUp(account, entry);
      reject(signal?.reason);
    };
    wait(account, entry);
    signal?.addEventListener('abort', onAbort, { once: true });
    giveOut();
    try {
      await begun;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    return slotOf(account);
  }

  async function enter(account: Turner, options: EnterOptions = {}): Promise<Slot> {
    options.signal?.throwIfAborted();
    // Free slots and waiting work exist together only if each waiting account holds its maximum.
    if (free === 0 || heldBy(account) >= perAccount) return waitForTurn(account, options);
    take(account);
    return slotOf(account);
  }

  const queue: FairQueue = {
    enter,
    async run(account, work, options) {
      using _slot = await enter(account, options);
      return await work();
    },
  };
  return name === undefined ? queue : TURNS.pass({ name, queue }).queue;
}
