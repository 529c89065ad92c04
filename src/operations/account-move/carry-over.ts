import type { Client } from 'pg';
import { countOwnedChunks } from '../../network/dispatch/parked/sql.ts';
import { type Between, betweenCells } from './between.ts';
import { copyChanges, findNoted } from './changes/copy.ts';
import { checkNotes } from './changes/note.ts';
import { clearAccount } from './clear.ts';
import { compareLedger, compareMoney, compareRows } from './compare.ts';
import type { CopiedAhead } from './copy-ahead.ts';
import { TOO_LATE } from './leave.ts';
import { carryRows, copyRows } from './rows.ts';
import {
  checkCopy,
  countParcelRows,
  deleteWebhookClaim,
  findExpiryInstant,
  findMoveForUpdate,
  lockAccountRows,
  markArriving,
  moveExpiryBack,
  moveToLeft,
} from './sql.ts';
import { CARRIED, COPIED, type OwnRows } from './tables.ts';

/** The account is not as it must be to leave; nothing has changed. */
export class NotReady extends Error {}

/** How many rows were copied, and how many were taken along. */
export type CarriedOver = { readonly copied: number; readonly carried: number };

/**
 * Copies a leaving account to the target, and ends it in the source, which decides the move. One transaction on the source
 * takes the rows of its queues, copies what is there as of one moment, and marks the account as left. Before it commits, the
 * transaction on the target is committed, in which the account is complete and not served: should the source not commit, it is
 * as if nothing had happened.
 *
 * Rejects with a `NotReady`, or a serialization failure, when a worker has the account in hand: then it may be repeated.
 */
export const carryOver = (move: Between & CopiedAhead): Promise<CarriedOver> =>
  betweenCells(move, (source, target) => copyAccount(source, target, move));

async function copyAccount(source: Client, target: Client, move: Between & CopiedAhead): Promise<CarriedOver> {
  const { accountId, ids, notes } = move;
  const mark = await findMoveForUpdate(source, { accountId });
  if (mark?.state !== 'leaving') throw new Error(TOO_LATE);
  await lockAccountRows(source, { accountId });
  if ((await countOwnedChunks(source, { accountId })) > 0) throw new NotReady('a worker sends messages of the account');
  await checkNotes(source, notes);
  await checkCopy(target, move);
  await clearAccount(target, { accountId, keepsAhead: true });
  await markArriving(target, { accountId, cell: move.source.number, isComplete: true });
  for (const [table, rows] of Object.entries(CARRIED)) await carryRows(source, target, { table, rows, accountId }, ids);
  const carried = await countParcelRows(target, { accountId });
  let copied = 0;
  for (const [table, rows] of Object.entries(COPIED)) copied += await copyTable(source, target, move, { table, rows });
  await compareMoney(source, target, accountId);
  const ledger = { table: 'ledger_entry', rows: {}, accountId, run: notes.run };
  await compareLedger(source, target, accountId, await findNoted(source, ledger));
  await moveExpiryBack(target, { instant: await findExpiryInstant(source) });
  await deleteWebhookClaim(source, { accountId });
  await moveToLeft(source, { accountId });
  return { copied, carried };
}

/** Returns the number of rows copied. */
async function copyTable(
  source: Client,
  target: Client,
  { accountId, ids, notes }: Between & CopiedAhead,
  { table, rows }: { table: string; rows: OwnRows },
): Promise<number> {
  const reading = { table, rows, accountId };
  if (rows.ahead) return copyChanges(source, target, { ...reading, run: notes.run }, ids);
  await copyRows(source, target, reading, ids);
  return compareRows(source, target, reading);
}
