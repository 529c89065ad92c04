import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Static } from 'typebox';
import { tenant } from '../../../platform/db/tenant.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/http/actor.ts';
import type { Clock } from '../../../platform/lib/clock.ts';
import { claimKey, insertAnswers, type Key, type SealedAnswer } from '../../../platform/idempotency/sql.ts';
import type { Accept, OnceRequest } from '../accept.ts';
import { answerBulk, toResult } from '../answer.ts';
import { readBulk } from '../read-send.ts';
import type { BulkIn, BulkOut } from '../schema.ts';
import * as db from './sql.ts';

const MAX_DESTINATIONS = 10_000;

export type BulkDeps = { readonly pool: Pool; readonly accept: Accept; readonly clock: Clock };
type Answer = Static<typeof BulkOut>;
/** An Idempotency-Key, and how an answer is stored under it. */
export type KeepBulk = Key & { seal(answer: Answer): SealedAnswer };

/**
 * Contract 7: takes a bulk request. With a `globalId` it counts once in 24 hours: the first answer is stored in the
 * transaction of its messages and given again; of two at once the second waits for the first. With an Idempotency-Key
 * (`keep`) what is answered is stored in that transaction as well. Errors: 400 naming the fields at fault, 409 when the
 * id was used for another body, 413 for more than 10,000 destinations; `isKeyTaken` when another request has the key.
 */
export async function sendBulk(deps: BulkDeps, actor: Actor, bulk: BulkIn, keep?: KeepBulk): Promise<Answer> {
  refuseTooMany(bulk);
  if (bulk.globalId !== undefined) return sendGlobal(deps, actor, bulk, { globalId: bulk.globalId, keep });
  const drafts = readBulk(bulk, deps.clock.now());
  const verdicts = keep
    ? await deps.accept.once(actor, drafts, keyed(bulk, keep))
    : await deps.accept.many(actor, drafts);
  return answerBulk(bulk, (verdicts ?? []).map(toResult));
}

type Ids = { readonly globalId: string; readonly keep: KeepBulk | undefined };

async function sendGlobal(
  { pool, accept, clock }: BulkDeps,
  actor: Actor,
  bulk: BulkIn,
  { globalId, keep }: Ids,
): Promise<Answer> {
  const request = { accountId: actor.accountId, globalId, bodyHash: hashOf(bulk) };
  const earlier = await findAnswer(pool, request, bulk);
  const once = keep ? both(onceOnly(request), keyed(bulk, keep)) : onceOnly(request);
  const verdicts = earlier ? null : await accept.once(actor, readBulk(bulk, clock.now()), once);
  if (verdicts) return answerBulk(bulk, verdicts.map(toResult));
  const answer = earlier ?? (await findAnswer(pool, request, bulk));
  if (!answer) throw new AppError('unavailable');
  if (keep) await insertAnswers(pool, [keep.seal(answer)]);
  return answer;
}

function refuseTooMany({ messages }: BulkIn): void {
  const count = messages.reduce((sum, message) => sum + message.destinations.length, 0);
  if (count > MAX_DESTINATIONS)
    throw new AppError('too_large', { message: `${count} destinations: at most ${MAX_DESTINATIONS} a request` });
}

const hashOf = (bulk: BulkIn): Buffer => createHash('sha256').update(JSON.stringify(bulk)).digest();

async function findAnswer(pool: Pool, request: db.BulkRequest, bulk: BulkIn): Promise<Answer | undefined> {
  const stored = await db.findBulkRequest(tenant(pool, request), request);
  if (!stored) return undefined;
  if (!stored.bodyHash.equals(request.bodyHash))
    throw new AppError('conflict', { message: 'This globalId was used for another body within 24 hours' });
  return answerBulk(bulk, stored.results);
}

const onceOnly = (request: db.BulkRequest): OnceRequest => ({
  take: async (tx) => (await db.insertBulkRequest(tx, request)) === 1,
  keep: (tx, verdicts) => db.updateBulkResults(tx, { ...request, results: verdicts.map(toResult) }),
});

const keyed = (bulk: BulkIn, keep: KeepBulk): OnceRequest => ({
  take: (tx) => claimKey(tx, keep).then(() => true),
  keep: async (tx, verdicts) => void (await insertAnswers(tx, [keep.seal(answerBulk(bulk, verdicts.map(toResult)))])),
});

/** Counts once for either. */
const both = (one: OnceRequest, other: OnceRequest): OnceRequest => ({
  take: async (tx) => (await one.take(tx)) && other.take(tx),
  keep: async (tx, verdicts) => {
    await one.keep(tx, verdicts);
    await other.keep(tx, verdicts);
  },
});
