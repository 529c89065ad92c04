import type { Client } from 'pg';
import type { Cell } from './cells.ts';
import type { ConnectionIds } from './rows.ts';

/** An account, and the two cells that it is copied between. */
export type Between = {
  readonly source: Cell;
  readonly target: Cell;
  readonly accountId: number;
  readonly ids: ConnectionIds;
};

/**
 * Does work in a REPEATABLE READ transaction on the source and one on the target, in sessions of their own. Commits the
 * target's first; when `work` or that commit fails, neither is committed.
 */
export async function betweenCells<T>(
  cells: Pick<Between, 'source' | 'target'>,
  work: (source: Client, target: Client) => Promise<T>,
): Promise<T> {
  await using opened = new AsyncDisposableStack();
  const open = async (cell: Cell): Promise<Client> => {
    const session = await cell.openSession();
    // Also ends what is not committed.
    opened.defer(() => session.end().catch(() => undefined));
    return session;
  };
  const [source, target] = [await open(cells.source), await open(cells.target)];
  await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await target.query('BEGIN');
  const result = await work(source, target);
  await commit(target);
  await commit(source);
  return result;
}

async function commit(session: Client): Promise<void> {
  const { command } = await session.query('COMMIT');
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back');
}
