import type { LedgerWriter } from './ledger.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import type { SandboxScript } from './script.ts';

/** The state that all binds of one system_id share. */
export type Account = {
  readonly systemId: string;
  readonly outbox: Outbox;
  /** The number of binds that are up. */
  readonly binds: number;
  /** Counts a bind that came up. */
  bound(): void;
  /** Counts a bind that went down. */
  unbound(): void;
  /** Counts a submit; returns false when the account has used up its `tps`. */
  takeToken(): boolean;
};

/** The accounts of the simulator. */
export type Accounts = {
  /** Returns an account, and creates it when it is new. */
  get(systemId: string): Account;
  all(): readonly Account[];
  /** Returns the account that bound last, or null. */
  lastBound(): Account | null;
};

/** Creates the accounts by system_id; they are never removed, since receipts wait in them. */
export function createAccounts(script: SandboxScript, ledger: LedgerWriter): Accounts {
  const accounts = new Map<string, Account>();
  let last: Account | null = null;

  function create(systemId: string): Account {
    let binds = 0;
    const account: Account = {
      systemId,
      outbox: createOutbox(script, ledger),
      get binds() {
        return binds;
      },
      bound() {
        binds++;
        last = account;
      },
      unbound: () => void binds--,
      takeToken: createTokens(script),
    };
    accounts.set(systemId, account);
    return account;
  }

  return {
    get: (systemId) => accounts.get(systemId) ?? create(systemId),
    all: () => [...accounts.values()],
    lastBound: () => last,
  };
}

/** Creates a token bucket that holds a quarter of a second of `tps`, at least one token. */
function createTokens(script: SandboxScript): () => boolean {
  let tokens = Number.POSITIVE_INFINITY;
  let filledAt = performance.now();
  return () => {
    if (script.tps === 0) return true;
    const now = performance.now();
    tokens = Math.min(tokens + ((now - filledAt) / 1000) * script.tps, Math.max(1, script.tps / 4));
    filledAt = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };
}
