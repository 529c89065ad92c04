import type { Pool } from 'pg';
import { transaction } from '../../platform/db/transaction.ts';
import { type ChunkMove, moveChunksElsewhere } from '../dispatch/sql.ts';
import * as db from './sql.ts';

const CHUNKS_PER_ROUND = 500;

export type FailOver = {
  /** True if any connection is not up: it is dead or may be soon, and new messages for it must then be moved. */
  readonly down: boolean;
  /** True if there may be more to move now. */
  readonly more: boolean;
  /** The messages that were moved, with the names of the old and the new connection. */
  readonly moves: readonly { from: string; to: string; connectionId: number; messages: number }[];
};

const NOTHING: FailOver = { down: false, more: false, moves: [] };

/**
 * Moves the messages that wait at dead connections to other connections of their routes that are up. A connection is
 * dead when it is paused, or when no worker has had a bind of it for `deadAfterMs`. Messages that may have been written
 * to a carrier are in claimed chunks or have an outcome, and stay. Moved messages do not move back when the connection
 * returns.
 */
export function failOver(pool: Pool, { deadAfterMs }: { deadAfterMs: number }): Promise<FailOver> {
  return transaction(pool, async (tx) => {
    if (!(await db.claimFailOver(tx))) return NOTHING;
    await db.insertDownConnections(tx);
    await db.deleteDownConnections(tx);
    const reach = await db.listReachability(tx, { deadAfterMs });
    const dead = reach.filter((connection) => connection.dead).map(({ id }) => id);
    const up = reach.filter((connection) => connection.up).map(({ id }) => id);
    const down = up.length < reach.length;
    if (dead.length === 0 || up.length === 0) return { ...NOTHING, down };
    const moves = await moveChunksElsewhere(tx, { dead, up, limit: CHUNKS_PER_ROUND });
    return { down, more: moves.length === CHUNKS_PER_ROUND, moves: totalsOf(moves, reach) };
  });
}

function totalsOf(moves: readonly ChunkMove[], reach: readonly db.Reachability[]): FailOver['moves'] {
  const names = new Map(reach.map(({ id, name }) => [id, name]));
  const named = (id: number): string => names.get(id) ?? `#${id}`;
  const groups = Map.groupBy(moves, ({ from, to }) => `${from}/${to}`);
  return [...groups.values()].flatMap((group) => {
    const messages = group.reduce((sum, move) => sum + move.messages, 0);
    return group.slice(0, 1).map(({ from, to }) => ({ from: named(from), to: named(to), connectionId: to, messages }));
  });
}
