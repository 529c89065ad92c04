/** Returns the taken amount. Calling it again does nothing. */
export type Release = () => void;

/**
 * Ends a caller's use of its amount, to make room for another one; false if that is not possible now. The budget counts
 * it as returned immediately.
 */
export type Cut = () => boolean;

/**
 * Reason why nothing was taken: the caller holds its maximum, or everything is taken and the caller is not owed a
 * share.
 */
export type Shortage = 'caller' | 'all';

/** Divides a bounded amount among callers, so that none of them can starve another one. */
export type FairBudget = {
  /**
   * Takes an amount for a caller, which is compared by identity. When everything is taken, the callers that hold the
   * most make room, as long as they hold more than this one would; the amount taken last is cut first.
   */
  take(caller: unknown, amount: number, cut: Cut): Release | Shortage;
  /** Returns the amount taken. */
  held(): number;
};

type Holding = { readonly caller: unknown; readonly amount: number; readonly cut: Cut };
type Account = { amount: number; readonly holdings: Set<Holding> };

/** Creates a budget of `all`, of which one caller holds at most `perCaller`. */
export function createFairBudget({ all, perCaller }: { readonly all: number; readonly perCaller: number }): FairBudget {
  const accounts = new Map<unknown, Account>();
  let held = 0;

  function remove(holding: Holding): void {
    const account = accounts.get(holding.caller);
    if (!account?.holdings.delete(holding)) return;
    account.amount -= holding.amount;
    held -= holding.amount;
    if (account.holdings.size === 0) accounts.delete(holding.caller);
  }

  /** Makes room until `amount` fits; false if the amounts that callers hold beyond `own` do not suffice. */
  function makeRoom(amount: number, own: number): boolean {
    if (held + amount > all && held + amount - beyond(accounts, own) > all) return false;
    while (held + amount > all) {
      const victim = findVictim(accounts, own);
      if (!victim) return false;
      remove(victim);
    }
    return true;
  }

  return {
    take(caller, amount, cut) {
      const own = (accounts.get(caller)?.amount ?? 0) + amount;
      if (own > perCaller) return 'caller';
      if (!makeRoom(amount, own)) return 'all';
      const account = accounts.get(caller) ?? { amount: 0, holdings: new Set() };
      const holding = { caller, amount, cut };
      accounts.set(caller, account);
      account.holdings.add(holding);
      account.amount += amount;
      held += amount;
      return () => remove(holding);
    },
    held: () => held,
  };
}

/**
 * Returns the amount that callers hold beyond `own` each. Nothing is cut for a caller who could not be served anyway.
 */
function beyond(accounts: ReadonlyMap<unknown, Account>, own: number): number {
  let sum = 0;
  for (const { amount } of accounts.values()) sum += Math.max(0, amount - own);
  return sum;
}

/** Cuts the newest holding of the caller that holds the most, if that is more than `own`, and returns it. */
function findVictim(accounts: ReadonlyMap<unknown, Account>, own: number): Holding | undefined {
  const heaviest = [...accounts.values()].filter(({ amount }) => amount > own).sort((a, b) => b.amount - a.amount);
  for (const { holdings } of heaviest) {
    const victim = [...holdings].reverse().find((holding) => holding.cut());
    if (victim) return victim;
  }
  return undefined;
}
