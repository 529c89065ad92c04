import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Static } from 'typebox';
import { AppError } from '../../errors.ts';
import type { Actor } from '../../http/actor.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Accept, OnceOnly } from '../accept.ts';
import { answerBulk, toResult } from '../answer.ts';
import { readBulk } from '../read-send.ts';
import type { BulkIn, BulkOut } from '../schema.ts';
import * as db from './sql.ts';

const MAX_DESTINATIONS = 10_000;

export type BulkDeps = { readonly pool: Pool; readonly accept: Accept; readonly clock: Clock };
type Answer = Static<typeof BulkOut>;

/**
 * Contract 7: takes a bulk request. With a `globalId` it counts once in 24 hours: the first answer is stored in the
 * transaction of its messages and given again; of two at once the second waits for the first. Errors: 400 naming the
 * fields at fault, 409 when the id was used for another body, 413 for more than 10,000 destinations.
 */
export async function sendBulk({ pool, accept, clock }: BulkDeps, actor: Actor, bulk: BulkIn): Promise<Answer> {
  refuseTooMany(bulk);
  const { globalId } = bulk;
  if (globalId === undefined) {
    const verdicts = await accept.many(actor, readBulk(bulk, clock.now()));
    return answerBulk(bulk, verdicts.map(toResult));
  }
  const request = { accountId: actor.accountId, globalId, bodyHash: hashOf(bulk) };
  const earlier = await findAnswer(pool, request, bulk);
  if (earlier) return earlier;
  const verdicts = await accept.once(actor, readBulk(bulk, clock.now()), onceOnly(request));
  if (verdicts) return answerBulk(bulk, verdicts.map(toResult));
  return (await findAnswer(pool, request, bulk)) ?? Promise.reject(new AppError('unavailable'));
}

function refuseTooMany({ messages }: BulkIn): void {
  const count = messages.reduce((sum, message) => sum + message.destinations.length, 0);
  if (count > MAX_DESTINATIONS)
    throw new AppError('too_large', { message: `${count} destinations: at most ${MAX_DESTINATIONS} a request` });
}

const hashOf = (bulk: BulkIn): Buffer => createHash('sha256').update(JSON.stringify(bulk)).digest();

async function findAnswer(pool: Pool, request: db.BulkRequest, bulk: BulkIn): Promise<Answer | undefined> {
  const stored = await db.findBulkRequest(pool, request);
  if (!stored) return undefined;
  if (!stored.bodyHash.equals(request.bodyHash))
    throw new AppError('conflict', { message: 'This globalId was used for another body within 24 hours' });
  return answerBulk(bulk, stored.results);
}

const onceOnly = (request: db.BulkRequest): OnceOnly => ({
  take: async (tx) => (await db.insertBulkRequest(tx, request)) === 1,
  keep: (tx, verdicts) => db.moveBulkResults(tx, { ...request, results: verdicts.map(toResult) }),
});
