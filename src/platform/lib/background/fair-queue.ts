/** A held slot of a fair queue. Disposing of it gives the slot to the next account; a second time has no effect. */
export type Slot = Disposable;

type EnterOptions = {
  /** Of the waiting work of one account, the cheapest goes first. In any unit, the same for all work of the queue. */
  readonly cost?: number;
  /** Ends the wait: `enter` then rejects with the reason of the signal. A held slot is not affected. */
  readonly signal?: AbortSignal;
};

/** Gives out slots to accounts in turn. */
export type FairQueue = {
  /** Resolves as soon as a slot is free and it is the account's turn. */
  enter(accountId: number, options?: EnterOptions): Promise<Slot>;
  /** Runs the work while it holds a slot. */
  run<T>(accountId: number, work: () => Promise<T>, options?: EnterOptions): Promise<T>;
};

type FairQueueOptions = {
  readonly size: number;
  /** The most that one account may hold, so that another one finds a slot without having to wait for the first. */
  readonly perAccount: number;
};

type Waiting = { readonly cost: number; readonly begin: () => void };

/**
 * Creates a queue of `size` slots. A free slot goes to the account that holds the fewest; among equal ones, to the one
 * whose last turn is longest ago. An account with much work therefore delays another one by at most one piece of it.
 */
export function createFairQueue({ size, perAccount }: FairQueueOptions): FairQueue {
  const held = new Map<number, number>();
  /** What waits, by account, in the order of the turns. */
  const turns = new Map<number, Waiting[]>();
  let free = size;
  const heldBy = (accountId: number): number => held.get(accountId) ?? 0;

  function next(): number | undefined {
    let best: number | undefined;
    for (const accountId of turns.keys()) {
      const holds = heldBy(accountId);
      if (holds < perAccount && (best === undefined || holds < heldBy(best))) best = accountId;
    }
    return best;
  }

  function giveOut(): void {
    while (free > 0) {
      const accountId = next();
      const waiting = accountId === undefined ? undefined : turns.get(accountId);
      const first = waiting?.shift();
      if (accountId === undefined || waiting === undefined || first === undefined) return;
      moveToEnd(accountId, waiting);
      free--;
      held.set(accountId, heldBy(accountId) + 1);
      first.begin();
    }
  }

  /** Makes the account's next turn come after those of all others. */
  function moveToEnd(accountId: number, waiting: Waiting[] | undefined): void {
    turns.delete(accountId);
    if (waiting && waiting.length > 0) turns.set(accountId, waiting);
  }

  function leave(accountId: number): void {
    const left = heldBy(accountId) - 1;
    if (left > 0) held.set(accountId, left);
    else held.delete(accountId);
    moveToEnd(accountId, turns.get(accountId));
    free++;
    giveOut();
  }

  function slotOf(accountId: number): Slot {
    let isHeld = true;
    return {
      [Symbol.dispose]() {
        if (isHeld) leave(accountId);
        isHeld = false;
      },
    };
  }

  function wait(accountId: number, entry: Waiting): void {
    const waiting = turns.get(accountId) ?? [];
    const at = waiting.findIndex(({ cost }) => cost > entry.cost);
    waiting.splice(at < 0 ? waiting.length : at, 0, entry);
    turns.set(accountId, waiting);
  }

  function giveUp(accountId: number, entry: Waiting): void {
    const left = (turns.get(accountId) ?? []).filter((each) => each !== entry);
    if (left.length > 0) turns.set(accountId, left);
    else turns.delete(accountId);
  }

  async function enter(accountId: number, { cost = 0, signal }: EnterOptions = {}): Promise<Slot> {
    signal?.throwIfAborted();
    const { promise: begun, resolve: begin, reject } = Promise.withResolvers<void>();
    const entry: Waiting = { cost, begin };
    const onAbort = (): void => {
      giveUp(accountId, entry);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    wait(accountId, entry);
    giveOut();
    try {
      await begun;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    return slotOf(accountId);
  }

  return {
    enter,
    async run(accountId, work, options) {
      using _slot = await enter(accountId, options);
      return await work();
    },
  };
}
