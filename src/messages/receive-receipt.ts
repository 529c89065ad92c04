import type { Receipt, ReceiptState } from '../carriers/events.ts';
import type { Db } from '../db/query.ts';
import { boundsOf } from './deliver.ts';
import { endMessages } from './end.ts';
import { FAILURES_WORST_FIRST, isFinal, STATUS } from './states.ts';
import { claimStates, listPartStatuses, moveParts, type PartMove } from './parts/sql.ts';
import type * as db from './sql.ts';

/** A receipt and the message (or the part of a long one) that it speaks of. */
export type MatchedReceipt = {
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number | null;
  readonly receipt: Receipt;
  readonly receivedAt: Date;
};

/** UNKNOWN means that the carrier cannot tell, ACCEPTED that it is on its way: neither moves anything. */
const statusOf = (state: ReceiptState): number => STATUS[state];

/**
 * Moves messages as their receipts say, forward only, in the caller's transaction, and settles what was frozen for
 * them. A long message is DELIVERED when all its parts are, and fails with the first part that does.
 *
 * @returns the ids of the messages that moved
 */
export async function receiveReceipts(tx: Db, matched: readonly MatchedReceipt[]): Promise<Set<string>> {
  const final = matched.filter(({ receipt }) => isFinal(statusOf(receipt.state)));
  const whole = final.filter(({ part }) => part === null).map(toMove);
  const ofParts = final.filter(({ part }) => part !== null);
  const joined = ofParts.length > 0 ? await moveByParts(tx, ofParts) : [];
  return endMessages(tx, firstPerMessage([...whole, ...joined]));
}

function toMove({ accountId, messageId, receipt, receivedAt }: MatchedReceipt): db.StateMove {
  const status = statusOf(receipt.state);
  return {
    accountId,
    id: messageId,
    status,
    doneAt: receipt.doneAt ?? receivedAt,
    errorCode: receipt.errorCode,
    errorText: status === STATUS.DELIVERED ? null : receipt.raw,
  };
}

/** The first final receipt of a message wins; later ones in the same batch are repeats. */
function firstPerMessage(moves: readonly db.StateMove[]): db.StateMove[] {
  const byId = new Map<string, db.StateMove>();
  for (const move of moves) if (!byId.has(move.id)) byId.set(move.id, move);
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

async function moveByParts(tx: Db, matched: readonly MatchedReceipt[]): Promise<db.StateMove[]> {
  const moves = firstPerPart(matched);
  // Each message once: receipts of several parts often come in one batch, and every key would count all the parts.
  const keys = [...new Map(moves.map((move) => [move.messageId, move])).values()];
  const [firstId, lastId] = boundsOf(moves.map((move) => move.messageId));
  await claimStates(tx, { keys, firstId, lastId });
  await moveParts(tx, { moves, firstId, lastId });
  const messages = await listPartStatuses(tx, { keys, firstId, lastId });
  return messages.flatMap((message) => endOf(message, matched));
}

/** As for whole messages: of two final receipts of one part, the first counts. */
function firstPerPart(matched: readonly MatchedReceipt[]): PartMove[] {
  const byPart = new Map<string, PartMove>();
  for (const { accountId, messageId, part, receipt, receivedAt } of matched) {
    const key = `${messageId}/${part}`;
    if (part === null || byPart.has(key)) continue;
    const doneAt = receipt.doneAt ?? receivedAt;
    byPart.set(key, { accountId, messageId, part, status: statusOf(receipt.state), doneAt });
  }
  return [...byPart.values()].sort((a, b) => (a.messageId < b.messageId ? -1 : 1));
}

type Parts = Awaited<ReturnType<typeof listPartStatuses>>[number];

function endOf(
  { accountId, messageId, parts, statuses, doneAt }: Parts,
  matched: readonly MatchedReceipt[],
): db.StateMove[] {
  const failure = FAILURES_WORST_FIRST.find((status) => statuses.includes(status));
  const delivered = statuses.filter((status) => status === STATUS.DELIVERED).length === parts;
  if (failure === undefined && !delivered) return [];
  const said = matched.find((m) => m.messageId === messageId && statusOf(m.receipt.state) === failure)?.receipt;
  const status = failure ?? STATUS.DELIVERED;
  return [
    { accountId, id: messageId, status, doneAt, errorCode: said?.errorCode ?? null, errorText: said?.raw ?? null },
  ];
}
