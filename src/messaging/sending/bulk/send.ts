import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Static } from 'typebox';
import { inTurn, tenant } from '../../../platform/db/tenant.ts';
import { AppError } from '../../../platform/errors.ts';
import type { AmountReader } from '../../../platform/lib/amounts.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import type { Clock } from '../../../platform/lib/clock.ts';
import { nextTurn } from '../../../platform/lib/background/slices.ts';
import { claimKey, insertAnswers, type Key, type SealedAnswer } from '../../../platform/idempotency/sql.ts';
import type { Accept, OnceRequest } from '../accept.ts';
import { answerBulk, toResult } from '../answer.ts';
import { readBulk } from '../read-send.ts';
import type { BulkIn, BulkOut } from '../schema.ts';
import * as db from './sql.ts';

const MAX_DESTINATIONS = 10_000;

export type BulkDeps = {
  readonly pool: Pool;
  readonly accept: Accept;
  readonly clock: Clock;
  /** Maximum days that messages may be scheduled ahead. */
  readonly maxScheduleDays?: number;
};
type Answer = Static<typeof BulkOut>;
/** An Idempotency-Key, and the function that seals a response to be stored under it. */
export type PendingBulkAnswer = Key & { seal(answer: Answer): SealedAnswer };

/**
 * Accepts a bulk request. With a `globalId` it is accepted once in 24 hours: its first response is stored in the
 * transaction of its messages and returned again to a repeat; of two at the same time the second waits for the first.
 * With an Idempotency-Key (`pendingAnswer`) the response is stored in that transaction as well.
 *
 * Errors: 400 naming the invalid fields, 409 when the id was used for another body, 413 for more than 10,000
 * destinations; `isKeyTaken` when another request has the key.
 */
export async function sendBulk(
  deps: BulkDeps,
  actor: Actor,
  bulk: BulkIn,
  pendingAnswer?: PendingBulkAnswer,
): Promise<Answer> {
  refuseTooMany(bulk);
  if (bulk.globalId !== undefined) return sendGlobal(deps, actor, bulk, { globalId: bulk.globalId, pendingAnswer });
  const drafts = readBulk(bulk, deps.clock.now(), deps.maxScheduleDays);
  const verdicts = pendingAnswer
    ? await deps.accept.once(actor, drafts, onceByKey(actor, bulk, pendingAnswer))
    : await deps.accept.many(actor, drafts);
  return answerInTurn(actor, bulk, (verdicts ?? []).map(toResult));
}

/**
 * Makes the response in a separate turn of the event loop: serializing 10,000 results takes some 4 ms, after the commit
 * and its news.
 */
async function answerInTurn(...results: Parameters<typeof answerBulk>): Promise<Answer> {
  await nextTurn();
  return answerBulk(...results);
}

type Ids = { readonly globalId: string; readonly pendingAnswer: PendingBulkAnswer | undefined };

async function sendGlobal(
  { pool, accept, clock, maxScheduleDays }: BulkDeps,
  actor: Actor,
  bulk: BulkIn,
  { globalId, pendingAnswer }: Ids,
): Promise<Answer> {
  const request = { accountId: actor.accountId, globalId, bodyHash: hashOf(bulk) };
  const earlier = await findAnswer(pool, request, actor, bulk);
  const once = pendingAnswer ? both(onceById(request), onceByKey(actor, bulk, pendingAnswer)) : onceById(request);
  const verdicts = earlier ? null : await accept.once(actor, readBulk(bulk, clock.now(), maxScheduleDays), once);
  if (verdicts) return answerInTurn(actor, bulk, verdicts.map(toResult));
  const answer = earlier ?? (await findAnswer(pool, request, actor, bulk));
  if (!answer) throw new AppError('unavailable');
  if (pendingAnswer) await inTurn(pool, actor, () => insertAnswers(pool, [pendingAnswer.seal(answer)]));
  return answer;
}

function refuseTooMany({ messages }: BulkIn): void {
  const count = messages.reduce((sum, message) => sum + message.destinations.length, 0);
  if (count > MAX_DESTINATIONS)
    throw new AppError('too_large', {
      message: `${count} destinations: a request may have at most ${MAX_DESTINATIONS}`,
    });
}

const hashOf = (bulk: BulkIn): Buffer => createHash('sha256').update(JSON.stringify(bulk)).digest();

async function findAnswer(
  pool: Pool,
  request: db.BulkRequest,
  reader: AmountReader,
  bulk: BulkIn,
): Promise<Answer | undefined> {
  const stored = await db.findBulkRequest(tenant(pool, request), request);
  if (!stored) return undefined;
  if (!stored.bodyHash.equals(request.bodyHash))
    throw new AppError('conflict', { message: 'This globalId was used for another body within 24 hours' });
  return answerBulk(reader, bulk, stored.results);
}

/** Accepts a bulk request once by its `globalId`. */
const onceById = (request: db.BulkRequest): OnceRequest => ({
  claim: async (tx) => (await db.insertBulkRequest(tx, request)) === 1,
  record: (tx, verdicts) => db.updateBulkResults(tx, { ...request, results: verdicts.map(toResult) }),
});

/** Accepts a bulk request once by its Idempotency-Key. */
const onceByKey = (reader: AmountReader, bulk: BulkIn, key: PendingBulkAnswer): OnceRequest => ({
  claim: (tx) => claimKey(tx, key).then(() => true),
  record: async (tx, verdicts) =>
    void (await insertAnswers(tx, [key.seal(answerBulk(reader, bulk, verdicts.map(toResult)))])),
});

/** Accepts a request if neither of two ids was used before. */
const both = (one: OnceRequest, other: OnceRequest): OnceRequest => ({
  claim: async (tx) => (await one.claim(tx)) && other.claim(tx),
  record: async (tx, verdicts) => {
    await one.record(tx, verdicts);
    await other.record(tx, verdicts);
  },
});
