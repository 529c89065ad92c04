import type { Caller, Named } from './callers/caller.ts';
import type { Cells } from './callers/cells.ts';
import type { Placements } from './placements.ts';

/** Where a request goes. */
export type Destination =
  | { readonly kind: 'cell'; readonly cell: number }
  /** Nobody knows the caller, or there is none: any cell answers, and refuses what needs credentials. */
  | { readonly kind: 'any' }
  /** Not now. */
  | { readonly kind: 'later'; readonly reason: string };

export type Directory = {
  /** Finds where a request goes by whom it names. */
  find(named: Named): Promise<Destination>;
  /** How many callers are known by heart. */
  knownCount(): number;
};

/** About 100 bytes each. The oldest ones are forgotten first, and asked for again. */
const MAX_KNOWN = 500_000;
/** A user may be deleted and made again in another account; keys and tokens never change hands. */
const NAMES_MS = 60_000;

/**
 * Creates the directory. It knows nothing about a caller at first: new callers are looked up in all cells, and known
 * from then on by heart, as what never changes: the account, not the cell. So nothing has to be published to the
 * directory, a key works from its first use on, and strangers, who are never remembered, displace nobody.
 */
export function createDirectory(deps: {
  readonly cells: Pick<Cells, 'find' | 'has'>;
  readonly placements: Pick<Placements, 'find'>;
}): Directory {
  const { cells, placements } = deps;
  const known = new Map<string, { readonly accountId: number; readonly until: number }>();

  function remember(key: string, accountId: number, forMs: number): void {
    known.delete(key);
    known.set(key, { accountId, until: performance.now() + forMs });
    if (known.size <= MAX_KNOWN) return;
    const [oldest = ''] = known.keys();
    known.delete(oldest);
  }

  async function accountOf(caller: Caller): Promise<number | 'nobody' | 'unsure'> {
    const key = `${caller.kind} ${caller.id}`;
    const before = known.get(key);
    if (before && performance.now() < before.until) return before.accountId;
    const answer = await cells.find(caller);
    if (answer.kind === 'account') {
      remember(key, answer.accountId, caller.kind === 'hash' ? Infinity : NAMES_MS);
      return answer.accountId;
    }
    if (answer.kind === 'unsure') return before?.accountId ?? 'unsure';
    known.delete(key);
    return 'nobody';
  }

  return {
    knownCount: () => known.size,
    async find(named) {
      if (named.kind === 'nobody') return { kind: 'any' };
      const account = named.kind === 'account' ? named.accountId : await accountOf(named);
      if (account === 'nobody') return { kind: 'any' };
      if (account === 'unsure') return { kind: 'later', reason: 'A part of the gateway that may know you is away' };
      const cell = await placements.find(account);
      if (cell === null) return { kind: 'later', reason: 'The account is being moved' };
      // An id that nobody has made, in a link that nobody has signed.
      return cells.has(cell) ? { kind: 'cell', cell } : { kind: 'any' };
    },
  };
}
