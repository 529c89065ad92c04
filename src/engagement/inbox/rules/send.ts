import type { Pool } from 'pg';
import { AppError } from '../../../platform/errors.ts';
import type { Clock } from '../../../platform/lib/clock.ts';
import type { Log } from '../../../platform/lib/log.ts';
import type { Accept } from '../../../messaging/sending/accept.ts';
import { composeReply } from '../compose.ts';
import { insertReply } from '../reply.ts';
import { claimInboxes, findEndpoints } from '../sql.ts';
import * as db from './sql.ts';

export type AutoAnswerDeps = {
  readonly pool: Pool;
  readonly accept: Pick<Accept, 'once'>;
  readonly clock: Clock;
  readonly log: Log;
};

type Claimed = Awaited<ReturnType<typeof db.claimAutoAnswers>>[number];

const CLAIMED = 20;
/** Lease, longer than a transaction may take. */
const LEASE_SECONDS = 60;

/**
 * Sends automatic answers that are due, and returns their number. An answer is made in the transaction that deletes it
 * from the queue, so it is sent once, whatever fails and however many workers try. Answers that cannot be sent, because
 * the person has opted out or the account lacks credit, are dropped.
 */
export async function sendAutoAnswers(deps: AutoAnswerDeps): Promise<number> {
  const claimed = await db.claimAutoAnswers(deps.pool, { limit: CLAIMED, leaseSeconds: LEASE_SECONDS });
  const results = await Promise.allSettled(claimed.map((one) => send(deps, one)));
  for (const result of results)
    if (result.status === 'rejected') deps.log.error({ err: result.reason }, 'an automatic answer failed');
  return claimed.length;
}

async function send(deps: AutoAnswerDeps, claimed: Claimed): Promise<void> {
  const { pool, accept, clock } = deps;
  const { accountId, chatId, text } = claimed;
  const ends = await findEndpoints(pool, { accountId, chatId });
  const composed =
    ends && (await composeReply({ pool, clock, findFile: noFile }, { accountId }, ends, { text }).catch(orInvalid));
  if (!ends || !composed) return void (await db.deleteAutoAnswer(pool, claimed));
  await accept.once({ accountId, keyId: null, userId: null }, [composed.draft], {
    async claim(tx) {
      await claimInboxes(tx, { accountIds: [accountId] });
      return (await db.deleteAutoAnswer(tx, claimed)) === 1;
    },
    async record(tx, [verdict]) {
      if (verdict?.kind !== 'accepted') return;
      await insertReply(tx, { accountId, id: verdict.messageId, ends, composed, at: clock.now() });
    },
  });
}

const noFile = (): Promise<undefined> => Promise.resolve(undefined);

/** Drops an answer that the channel rejects, such as a text that is too long. */
function orInvalid(error: unknown): undefined {
  if (error instanceof AppError && error.code === 'invalid') return undefined;
  throw error;
}
