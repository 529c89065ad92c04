import type { Receipt, ReceiptState } from '../../carriers/events.ts';
import type { Db } from '../../platform/db/query.ts';
import { boundsOf } from '../../platform/lib/ids.ts';
import { endMessages } from './end.ts';
import { insertEvents, type NewEvent } from './events/sql.ts';
import { FAILURES_WORST_FIRST, isFinal, STATUS } from '../states.ts';
import { claimStates, listPartStatuses, moveParts, type PartMove, type PartStatuses } from './parts/sql.ts';
import type { MessageRead, StateMove } from './sql.ts';
import { MINUTE_MS } from '../../platform/lib/time.ts';

/** A receipt and the message, or the part of a long message, that it reports on. */
export type MatchedReceipt = {
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number | null;
  readonly connectionId: number;
  readonly receipt: Receipt;
  readonly receivedAt: Date;
};

/**
 * Returns the status of a receipt. UNKNOWN means that the carrier does not know, ACCEPTED that the message is on its
 * way: neither moves anything. A message that was read was delivered, whether a receipt reported that or not.
 */
const statusOf = (state: ReceiptState): number => STATUS[state === 'READ' ? 'DELIVERED' : state];

/**
 * Moves messages to the states that their receipts report, forward only, in the caller's transaction, and settles their
 * frozen prices. A long message is DELIVERED when all its parts are, and fails with the first part that does. A message
 * that was read is DELIVERED and stores when it was read; READ and DELIVERED may come in any order.
 *
 * @returns the ids of the messages that stayed as they were because they had a final state already
 */
export async function receiveReceipts(tx: Db, matched: readonly MatchedReceipt[]): Promise<Set<string>> {
  const { finals, others } = firstFinals(matched);
  const parted = finals.filter(({ part }) => part !== null);
  const whole = finals.filter(({ part }) => part === null);
  const { ends, movedParts } = await moveByParts(tx, parted);
  const moves = whole.map(toMove);
  const stayed = await endMessages(tx, ends.length === 0 ? moves : [...moves, ...ends].sort(byId), {
    reads: readsOf(matched),
  });
  const idle = new Set([...others, ...parted.filter((m) => !movedParts.has(placeOf(m)))]);
  if (stayed.size > 0) for (const m of whole) if (stayed.has(m.messageId)) idle.add(m);
  if (idle.size > 0) await insertEvents(tx, matched.filter((m) => idle.has(m)).map(toEvent));
  return stayed;
}

/** The message, or the part of a message, that a receipt reports on. */
type Place = { readonly messageId: string; readonly part: number | null };
const placeOf = ({ messageId, part }: Place): string => `${messageId}/${part}`;

const byPlace = (a: Place, b: Place): number =>
  a.messageId === b.messageId ? (a.part ?? 0) - (b.part ?? 0) : a.messageId < b.messageId ? -1 : 1;

/**
 * Separates the first final receipt of each message or part, in the order of the ids, from the others; later ones in
 * the same batch are repeats. It sorts, because receipts arrive nearly in that order, and a map of ids took three times
 * as long.
 */
function firstFinals(matched: readonly MatchedReceipt[]) {
  const finals: MatchedReceipt[] = [];
  const others: MatchedReceipt[] = [];
  for (const m of matched.toSorted(byPlace)) {
    const last = finals.at(-1);
    const repeated = last !== undefined && byPlace(last, m) === 0;
    if (repeated || !isFinal(statusOf(m.receipt.state))) others.push(m);
    else finals.push(m);
  }
  return { finals, others };
}

/**
 * Returns the read times of messages, each once, in the order of the ids. A receipt of one part proves nothing about
 * the whole message.
 */
function readsOf(matched: readonly MatchedReceipt[]): MessageRead[] {
  const reads = new Map<string, MessageRead>();
  for (const { receipt, accountId, messageId: id, part, receivedAt } of matched)
    if (receipt.state === 'READ' && part === null && !reads.has(id))
      reads.set(id, { accountId, id, readAt: doneAtOf(receipt, receivedAt) });
  return reads.size === 0 ? [] : [...reads.values()].sort(byId);
}

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1);

/** Most receipts give only the minute. When a receipt came within that minute, its arrival is the more precise time. */
function doneAtOf({ doneAt }: Receipt, receivedAt: Date): Date {
  if (doneAt === null) return receivedAt;
  const lateMs = receivedAt.getTime() - doneAt.getTime();
  return doneAt.getTime() % MINUTE_MS === 0 && lateMs >= 0 && lateMs < MINUTE_MS ? receivedAt : doneAt;
}

function toMove({ accountId, messageId, receipt, receivedAt }: MatchedReceipt): StateMove {
  const status = statusOf(receipt.state);
  return {
    accountId,
    id: messageId,
    status,
    doneAt: doneAtOf(receipt, receivedAt),
    errorCode: receipt.errorCode,
    errorText: status === STATUS.DELIVERED ? null : receipt.raw,
    receiptText: receipt.raw,
    isReported: true,
  };
}

/** Records a receipt that moved nothing, because it belongs to the history of the message. */
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

type PartsMoved = { readonly ends: StateMove[]; readonly movedParts: ReadonlySet<string> };

async function moveByParts(tx: Db, finals: readonly MatchedReceipt[]): Promise<PartsMoved> {
  if (finals.length === 0) return { ends: [], movedParts: new Set() };
  const moves = finals.map(toPartMove).sort((a, b) => (a.messageId < b.messageId ? -1 : 1));
  // Each message once: receipts of several parts often come in one batch, and a repeated key would count the parts
  // twice.
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
  doneAt: doneAtOf(receipt, receivedAt),
  receiptText: receipt.raw,
});

function endOf(
  { accountId, messageId, parts, statuses, doneAt }: PartStatuses,
  matched: readonly MatchedReceipt[],
): StateMove[] {
  const failure = FAILURES_WORST_FIRST.find((status) => statuses.includes(status));
  const delivered = statuses.filter((status) => status === STATUS.DELIVERED).length === parts;
  if (failure === undefined && !delivered) return [];
  const reported = matched.find((m) => m.messageId === messageId && statusOf(m.receipt.state) === failure)?.receipt;
  const status = failure ?? STATUS.DELIVERED;
  return [
    {
      accountId,
      id: messageId,
      status,
      doneAt,
      errorCode: reported?.errorCode ?? null,
      errorText: reported?.raw ?? null,
      isReported: true,
    },
  ];
}
