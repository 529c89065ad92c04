import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { createPartitions, listEndedDays } from '../../platform/db/partitions.ts';
import type { Db } from '../../platform/db/query.ts';
import { isConflict, setStatementTimeoutMinutes, transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { holdAccount, releaseAccount } from '../directory/sql.ts';
import { beginNotes, endNotes } from './changes/note.ts';
import { type Notes, runsOf } from './changes/sql.ts';
import { type CarriedOver, carryOver, NotReady } from './carry-over.ts';
import type { Cell } from './cells.ts';
import { clearAccount } from './clear.ts';
import { completeMove, type Ends } from './complete.ts';
import { catchUp, catchUpAndCompare, type Copied, copyAhead } from './copy-ahead.ts';
import { freeze, type Leaving, prepare, thawNow } from './leave.ts';
import type { ConnectionIds } from './rows.ts';
import { deleteMove, deleteParcels, findMove, findMoveForUpdate, moveBackToLeft } from './sql.ts';

export type MoveInput = {
  readonly source: Cell;
  readonly target: Cell;
  readonly directory: Pool | null;
  readonly accountId: number;
  readonly ids: ConnectionIds;
  /** Rejects when the caller no longer keeps other runs for the account out (`tryMoveLock`). */
  readonly checkLock: () => Promise<void>;
  /** Told of each step. */
  readonly onStep: (step: string) => void;
};

/** `pauseMs` is how long the account was not served; null when an earlier run of the command had ended its service. */
export type Moved = CarriedOver & { readonly pauseMs: number | null };

/**
 * How long an account may be without service at most before it is copied: after that its source serves it again. While it is
 * copied, the source waits for the end of the copy.
 */
const HOLD_SECONDS = 60;
const RETRY_MS = 100;
const MAX_TRIES = 40;

/**
 * Moves an account from one cell to another, whose connections, routes and prices must fit (`listObstacles`). When it
 * rejects, or its process dies, the account is served in the source again after a minute at the most, or, once it has left,
 * in the target, by a worker of the source; the same call again goes on.
 */
export async function moveAccountTo(move: MoveInput): Promise<Moved> {
  const { source, target, directory, accountId, onStep } = move;
  const cell = target.number;
  const ends = { source: source.pool, target: target.pool, directory };
  const leaving = { accountId, cell, hasDirectory: directory !== null };
  const before = await findMove(source.pool, { accountId });
  if (before?.state === 'left') {
    onStep('it had left before: completing');
    if (!before.arrived) await completeMove(ends, { ...before, cell });
    return { copied: 0, carried: 0, pauseMs: null };
  }
  // An earlier run that was killed may have left it held.
  if (before) await undo(ends, accountId);
  await createPartitions(target.pool, await listEndedDays(source.pool, new Date()));
  onStep('noting its changes');
  // Where the account has left the target before, triggers may have remained there, and would note the copy.
  await endNotes(target.pool, { accountId, run: runsOf(accountId) });
  const notes = await beginNotes(source.pool, { accountId });
  try {
    const ahead = await copyWhileServed(move, notes, leaving);
    const frozenAt = performance.now();
    onStep('holding its requests');
    if (directory) await holdAccount(directory, { accountId });
    await freeze(source.pool, { ...leaving, seconds: HOLD_SECONDS });
    onStep('copying');
    await move.checkLock();
    const { copied, carried } = await untilReady(() => carryOver({ ...move, notes, copy: ahead.copy }));
    onStep('switching');
    await completeMove(ends, leaving);
    const pauseMs = Math.round(performance.now() - frozenAt);
    return { copied: ahead.copied + copied, carried, pauseMs };
  } catch (error) {
    await undo(ends, accountId).catch(() => undefined);
    throw error;
  } finally {
    // Where that fails, a worker does it.
    await endNotes(source.pool, notes).catch(() => undefined);
  }
}

/** Copies what there may be much of, follows what changes meanwhile, and ends the background work of the account. */
async function copyWhileServed(move: MoveInput, notes: Notes, leaving: Leaving): Promise<Copied> {
  const { source, onStep } = move;
  onStep('copying ahead');
  const first = await copyAhead(move);
  onStep('catching up');
  const onDifference = (table: string): void => onStep(`copying ${table} again: it differs`);
  const compared = await catchUpAndCompare({ ...move, notes, copy: first.copy, onDifference });
  const beganAt = performance.now();
  // What was sent during the comparison.
  const caughtUp = await catchUp({ ...move, notes, copy: compared.copy });
  const againSeconds = 5 + Math.ceil((2 * (performance.now() - beganAt)) / 1000);
  onStep('ending the background work');
  await prepare(source.pool, { ...leaving, thenSeconds: againSeconds });
  // What the account has sent meanwhile, several seconds of it, is then not left for the time without service.
  onStep('catching up again');
  const last = await catchUp({ ...move, notes, copy: caughtUp.copy });
  return { copied: first.copied + compared.copied + caughtUp.copied + last.copied, copy: last.copy };
}

/**
 * Has an account served in its source again, if it has not left, and removes what was copied. Returns whether it had not.
 * Errors: 409 in the cell that it arrives in.
 */
export async function undo(ends: Ends, accountId: number): Promise<boolean> {
  await thawNow(ends.source, { accountId });
  const stands = await findMove(ends.source, { accountId });
  if (stands?.state === 'left') return false;
  if (stands?.state === 'arriving')
    throw new AppError('conflict', {
      message: `The account is arriving from cell ${stands.cell}: abort that move there`,
    });
  if (ends.directory) await releaseAccount(ends.directory, { accountId });
  await removeArriving(ends.target, accountId);
  return true;
}

/**
 * Removes the copy of an account whose move was given up. Where the account had been before, it has left again: its rows stay,
 * by which late receipts and inbound messages are passed on. Only while no command moves it: that copy may be about to count.
 */
export const removeArriving = (target: Pool, accountId: number): Promise<void> =>
  transaction(target, async (tx) => {
    if ((await findMoveForUpdate(tx, { accountId }))?.state !== 'arriving') return;
    if ((await moveBackToLeft(tx, { accountId })) > 0) return void (await deleteParcels(tx, { accountId }));
    await removeRows(tx, accountId);
  });

/** Deletes all rows of an account that is not served in this database, and forgets that it was here. */
export const removeAccount = (pool: Pool, accountId: number): Promise<void> =>
  transaction(pool, (tx) => removeRows(tx, accountId));

async function removeRows(tx: Db, accountId: number): Promise<void> {
  await setStatementTimeoutMinutes(tx, 60);
  await clearAccount(tx, { accountId });
  await deleteMove(tx, { accountId, states: ['arriving', 'left'] });
}

/** Repeats the copy while workers have the account in hand. */
async function untilReady<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === MAX_TRIES || !isPassing(error)) throw error;
      await delay(RETRY_MS);
    }
  }
}

/** Whether a worker has the account in hand, or has changed the same rows. */
const isPassing = (error: unknown): boolean => error instanceof NotReady || isConflict(error);
