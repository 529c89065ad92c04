import type { Pool } from 'pg';
import { hasPassedOn } from '../../messaging/passed-on/sql.ts';
import { AppError } from '../../platform/errors.ts';
import { DAY_MS } from '../../platform/lib/time.ts';
import type { Cell } from './cells.ts';
import { isKnown } from './complete.ts';
import { removeAccount } from './move.ts';
import { findMove } from './sql.ts';

type FinishInput = {
  readonly source: Pool;
  readonly target: Cell;
  readonly accountId: number;
  /** Whether rows are deleted by which late receipts would still be passed on. */
  readonly evenIfRecent: boolean;
};

/** For how long carriers send receipts. */
const RECEIPTS_MS = 3 * DAY_MS;

/**
 * Deletes what an account that is served elsewhere has left here. Errors: 409 when it has not left, or did so less than three
 * days ago, when something still waits to be passed on, and when the target does not have it, as after a restore from an
 * older backup: then this is the only copy.
 */
export async function finishMove({ source, target, accountId, evenIfRecent }: FinishInput): Promise<void> {
  const move = await findMove(source, { accountId });
  if (move?.arrived !== true)
    throw new AppError('conflict', { message: 'The account has not left, or has not arrived yet' });
  if (!(await isKnown(target.pool, { accountId })))
    throw new AppError('conflict', {
      message: `Cell ${target.number} does not have the account: name the cell that serves it with --to`,
    });
  if (!evenIfRecent && move.since.getTime() > Date.now() - RECEIPTS_MS)
    throw new AppError('conflict', {
      message: `The account left at ${move.since.toISOString()}, and receipts may arrive for three days. Add --now to delete its rows anyway`,
    });
  if (await hasPassedOn(source, { accountId }))
    throw new AppError('conflict', {
      message: 'Receipts or inbound messages wait to be passed on: is a worker running?',
    });
  await removeAccount(source, accountId);
}
