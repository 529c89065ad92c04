import { groupCommit } from '../../platform/db/group-commit.ts';
import type { Pool } from 'pg';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { notifyRoutingChange } from '../connections/sql.ts';
import { type AskedSender, type FindSticky, NO_STICKY, type SenderRules } from './rules.ts';
import { listSticky, listStickyPools, lockPool, type StickySender, updatePoolNotSticky } from './sql.ts';

type Key = Omit<StickySender, 'sender'>;
type Rules = Pick<SenderRules, 'stickyPoolOf'>;

/**
 * Looks up which of these recipients of one account keep the number of a pool that they know, in one statement if any.
 */
export async function findStickySenders(db: Db, rules: Rules, asked: readonly AskedSender[]): Promise<FindSticky> {
  const keys = keysOf(rules, asked);
  return keys.length === 0 ? NO_STICKY : finderIn(keys, byKey(await listSticky(db, keys)));
}

/**
 * Creates a function that looks up which of these recipients of one account keep the number of a pool that they know.
 * Concurrent requests share one statement; messages from no pool, or from one in which no recipient keeps a number,
 * need none.
 */
export function createStickyLookup(db: Db, rules: Rules): (asked: readonly AskedSender[]) => Promise<FindSticky> {
  const find = groupCommit<readonly Key[], ReadonlyMap<string, string>>({
    maxItems: 200,
    async flush(lists) {
      const keys = new Map(lists.flat().map((key) => [keyOf(key), key]));
      const found = byKey(await listSticky(db, [...keys.values()]));
      return lists.map(() => found);
    },
  });
  return async (asked) => {
    const keys = keysOf(rules, asked);
    return keys.length === 0 ? NO_STICKY : finderIn(keys, await find(keys));
  };
}

/**
 * Records which pools have no recipients any more who keep a number, so that messages from them need no look-up;
 * running processes follow immediately. Returns how many there were.
 */
export async function endStickyPools(pool: Pool): Promise<number> {
  let ended = 0;
  // The lock comes first: a number that joins meanwhile may bring new recipients.
  for (const { id } of await listStickyPools(pool))
    ended += await transaction(pool, async (tx) => {
      const locked = await lockPool(tx, { id });
      const changed = locked ? await updatePoolNotSticky(tx, locked) : 0;
      if (changed > 0) await notifyRoutingChange(tx);
      return changed;
    });
  return ended;
}

const keysOf = (rules: Rules, asked: readonly AskedSender[]): Key[] =>
  asked.flatMap((each) => {
    const pool = rules.stickyPoolOf(each);
    return pool === null ? [] : [{ accountId: each.accountId, pool, destination: each.destination }];
  });

const byKey = (rows: readonly StickySender[]): ReadonlyMap<string, string> =>
  new Map(rows.map((row) => [keyOf(row), row.sender]));

/** All keys are of one account. */
function finderIn(keys: readonly Key[], found: ReadonlyMap<string, string>): FindSticky {
  const accountId = keys[0]?.accountId ?? 0;
  return (pool, destination) => found.get(keyOf({ accountId, pool, destination }));
}

const keyOf = ({ accountId, pool, destination }: Key): string => `${accountId}/${pool}/${destination}`;
