import type { Pool } from 'pg';
import { transaction } from '../../platform/db/transaction.ts';
import { type ChunkMove, moveChunksElsewhere } from '../dispatch/sql.ts';
import * as db from './sql.ts';

const CHUNKS_A_TIME = 500;

export type FailOver = {
  /** Whether any connection is not up: it may be dead soon, or is, and what comes for it is to be moved. */
  readonly down: boolean;
  /** Whether there may be more to move at once. */
  readonly more: boolean;
  /** What was moved, from which connection (by name) to which. */
  readonly moves: readonly { from: string; to: string; connectionId: number; messages: number }[];
};

const NOTHING: FailOver = { down: false, more: false, moves: [] };

/**
 * Moves what waits at dead connections to others of its routes that are up. Dead are those that are paused, and those
 * that no worker had a bind of for `deadAfterMs`. What may have been written to a carrier is in claimed chunks or has
 * an outcome, and stays. What has moved does not move back when its connection returns.
 */
export function failOver(pool: Pool, { deadAfterMs }: { deadAfterMs: number }): Promise<FailOver> {
  return transaction(pool, async (tx) => {
    if (!(await db.claimFailOver(tx))) return NOTHING;
    await db.insertDownConnections(tx);
    await db.deleteDownConnections(tx);
    const reach = await db.listReach(tx, { deadAfterMs });
    const dead = reach.filter((connection) => connection.dead).map(({ id }) => id);
    const up = reach.filter((connection) => connection.up).map(({ id }) => id);
    const down = up.length < reach.length;
    if (dead.length === 0 || up.length === 0) return { ...NOTHING, down };
    const moves = await moveChunksElsewhere(tx, { dead, up, limit: CHUNKS_A_TIME });
    return { down, more: moves.length === CHUNKS_A_TIME, moves: totalsOf(moves, reach) };
  });
}

function totalsOf(moves: readonly ChunkMove[], reach: readonly db.Reach[]): FailOver['moves'] {
  const names = new Map(reach.map(({ id, name }) => [id, name]));
  const named = (id: number): string => names.get(id) ?? `#${id}`;
  const groups = Map.groupBy(moves, ({ from, to }) => `${from}/${to}`);
  return [...groups.values()].flatMap((group) => {
    const messages = group.reduce((sum, move) => sum + move.messages, 0);
    return group.slice(0, 1).map(({ from, to }) => ({ from: named(from), to: named(to), connectionId: to, messages }));
  });
}
