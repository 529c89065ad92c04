import type { Receipt, ReceiptState } from '../carriers/events.ts';
import type { Db } from '../db/query.ts';
import { boundsOf } from './deliver.ts';
import { endMessages } from './end.ts';
import { insertEvents, type NewEvent } from './events/sql.ts';
import { FAILURES_WORST_FIRST, isFinal, STATUS } from './states.ts';
import { claimStates, listPartStatuses, moveParts, type PartMove } from './parts/sql.ts';
import type * as db from './sql.ts';

/** A receipt and the message (or the part of a long one) that it speaks of. */
export type MatchedReceipt = {
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number | null;
  readonly connectionId: number;
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
  const first = firstFinals(matched);
  const finals = [...first.values()];
  const { ends, movedParts } = await moveByParts(
    tx,
    finals.filter(({ part }) => part !== null),
  );
  const whole = finals.filter(({ part }) => part === null).map(toMove);
  const moved = await endMessages(tx, [...whole, ...ends].sort(byId));
  const counted = (m: MatchedReceipt): boolean =>
    first.get(placeOf(m)) === m && (m.part === null ? moved : movedParts).has(placeOf(m));
  await insertEvents(tx, matched.filter((m) => !counted(m)).map(toEvent));
  return moved;
}

/** The message, or the part of one, that a receipt is about. */
const placeOf = ({ messageId, part }: { readonly messageId: string; readonly part: number | null }): string =>
  part === null ? messageId : `${messageId}/${part}`;

/** The first final receipt of a message or part counts; later ones in the same batch are repeats. */
function firstFinals(matched: readonly MatchedReceipt[]): Map<string, MatchedReceipt> {
  const first = new Map<string, MatchedReceipt>();
  for (const m of matched) {
    if (!isFinal(statusOf(m.receipt.state))) continue;
    const place = placeOf(m);
    if (!first.has(place)) first.set(place, m);
  }
  return first;
}

const byId = (a: db.StateMove, b: db.StateMove): number => (a.id < b.id ? -1 : 1);

function toMove({ accountId, messageId, receipt, receivedAt }: MatchedReceipt): db.StateMove {
  const status = statusOf(receipt.state);
  return {
    accountId,
    id: messageId,
    status,
    doneAt: receipt.doneAt ?? receivedAt,
    errorCode: receipt.errorCode,
    errorText: status === STATUS.DELIVERED ? null : receipt.raw,
    receiptText: receipt.raw,
  };
}

/** A receipt that moved nothing: the carrier said it all the same. */
const toEvent = ({ accountId, messageId, connectionId, part, receipt, receivedAt }: MatchedReceipt): NewEvent => ({
  accountId,
  messageId,
  kind: 'receipt',
  connectionId,
  text: receipt.raw,
  details: {
    status: statusOf(receipt.state),
    ...(part === null ? {} : { part }),
    ...(receipt.errorCode === null ? {} : { code: receipt.errorCode }),
  },
  at: receivedAt,
});

type PartsMoved = { readonly ends: db.StateMove[]; readonly movedParts: ReadonlySet<string> };

async function moveByParts(tx: Db, finals: readonly MatchedReceipt[]): Promise<PartsMoved> {
  if (finals.length === 0) return { ends: [], movedParts: new Set() };
  const moves = finals.map(toPartMove).sort((a, b) => (a.messageId < b.messageId ? -1 : 1));
  // Each message once: receipts of several parts often come in one batch, and every key would count all the parts.
  const keys = [...new Map(moves.map((move) => [move.messageId, move])).values()];
  const [firstId, lastId] = boundsOf(moves.map((move) => move.messageId));
  await claimStates(tx, { keys, firstId, lastId });
  const moved = await moveParts(tx, { moves, firstId, lastId });
  const messages = await listPartStatuses(tx, { keys, firstId, lastId });
  return {
    ends: messages.flatMap((message) => endOf(message, finals)),
    movedParts: new Set(moved.map(placeOf)),
  };
}

const toPartMove = ({ accountId, messageId, part, receipt, receivedAt }: MatchedReceipt): PartMove => ({
  accountId,
  messageId,
  part: part ?? 1,
  status: statusOf(receipt.state),
  doneAt: receipt.doneAt ?? receivedAt,
  receiptText: receipt.raw,
});

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
