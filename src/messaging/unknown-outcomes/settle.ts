import { operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import type { Pool, PoolClient } from 'pg';
import { transaction } from '../../platform/db/transaction.ts';
import { createCostList } from '../../network/costs/cost-list.ts';
import { insertRetryChunk } from '../../network/dispatch/sql.ts';
import { AppError } from '../../platform/errors.ts';
import { isUuid } from '../../platform/lib/ids.ts';
import { endMessages } from '../messages/end.ts';
import { marginOfNothing } from '../messages/margins.ts';
import { listTraits } from '../messages/sql.ts';
import { insertEvents } from '../messages/events/sql.ts';
import { STATUS } from '../states.ts';
import { countTraffic } from '../traffic/count.ts';
import { moveToNameless } from '../messages/unknown/sql.ts';
import { countMargins } from '../traffic/margins/count.ts';
import * as db from './sql.ts';

/** Possible verdicts on an unknown outcome: its final state, or that the carrier never got the message. */
export const VERDICTS = ['delivered', 'undeliverable', 'rejected', 'expired', 'not-sent'] as const;
export type Verdict = (typeof VERDICTS)[number];

const END_STATUS = {
  delivered: STATUS.DELIVERED,
  undeliverable: STATUS.UNDELIVERABLE,
  rejected: STATUS.REJECTED,
  expired: STATUS.EXPIRED,
} as const;

/** An operator's decision about an unknown outcome. */
export type Settling = {
  readonly messageId: string;
  readonly as: Verdict;
  /** The operator, whose name is stored in the message's history. */
  readonly by: string;
};

/**
 * Settles an unknown outcome by an operator's decision: `not-sent` queues the message again on its connection, any
 * other verdict becomes its final state and settles its credit. When a receipt settles it at the same time, the receipt
 * wins.
 *
 * Errors: 404 when the message is not on the list; 409 when it was settled concurrently, or cannot be sent again
 * because the carrier accepted it or some of its parts, or because its connection was removed.
 */
export function settleUnknown(pool: Pool, settling: Settling, now: Date): Promise<db.Unknown> {
  return transaction(pool, async (tx) => {
    const unknown = isUuid(settling.messageId) ? await db.findUnknown(tx, settling) : undefined;
    if (!unknown)
      throw new AppError('not_found', { message: `There is no open unknown outcome ${settling.messageId}` });
    const { accountId, messageId, connectionId } = unknown;
    const text = `${settling.as}, according to ${settling.by}`;
    await insertEvents(tx, [{ accountId, messageId, connectionId, kind: 'settled', text }]);
    const settled = { action: 'message.settle', subject: `message:${messageId}`, detail: { as: settling.as } };
    await recordAudit(tx, operatorAuthor(accountId, settling.by), settled);
    if (settling.as === 'not-sent') await sendAgain(tx, unknown, text);
    else await end(tx, unknown, END_STATUS[settling.as], text, now);
    return unknown;
  });
}

const settledConcurrently = (): AppError =>
  new AppError('conflict', { message: 'The outcome was settled concurrently' });

async function end(
  tx: PoolClient,
  { accountId, messageId }: db.Unknown,
  status: number,
  text: string,
  doneAt: Date,
): Promise<void> {
  const failed = status !== STATUS.DELIVERED;
  const stayed = await endMessages(tx, [
    {
      accountId,
      id: messageId,
      status,
      doneAt,
      errorCode: failed ? 'SETTLED_BY_OPERATOR' : null,
      errorText: failed ? `settled by operator: ${text}` : null,
    },
  ]);
  if (stayed.has(messageId)) throw settledConcurrently();
}

async function sendAgain(tx: PoolClient, unknown: db.Unknown, reason: string): Promise<void> {
  const { accountId, messageId, connectionId } = unknown;
  if (unknown.connection === null)
    throw new AppError('conflict', { message: 'The connection of the message was removed' });
  if (await db.hasKnownParts(tx, unknown))
    throw new AppError('conflict', {
      message: 'The carrier accepted some parts of the message: settle it with a final state',
    });
  const state = await db.moveToWaiting(tx, { accountId, messageId, reason });
  if (!state)
    throw new AppError('conflict', {
      message: 'The carrier has accepted the message, or the outcome was settled concurrently',
    });
  await moveToNameless(tx, [unknown]);
  const { attempts: attempt, campaignId, channel, possibleDuplicate } = state;
  const turn = { priority: 1, round: 0, tries: 0, afterMs: 0 };
  await insertRetryChunk(tx, { accountId, connectionId, campaignId, attempt, ...turn, ids: [messageId] });
  // The message was not sent after all, unless an earlier attempt may have reached the recipient.
  if (!possibleDuplicate) await countTraffic(tx, [{ accountId, id: messageId, campaignId, channel, sent: -1 }]);
  await takeBackCost(tx, unknown);
}

/** Subtracts the cost of a message that its carrier never got from the margin, at today's cost. */
async function takeBackCost(tx: PoolClient, { accountId, messageId, connectionId }: db.Unknown): Promise<void> {
  const costs = createCostList(tx);
  await costs.reload();
  const [traits] = costs.isPriced(connectionId) ? await listTraits(tx, [{ accountId, id: messageId }]) : [];
  if (traits) await countMargins(tx, [marginOfNothing({ accountId, connectionId, traits }, costs.find)]);
}
