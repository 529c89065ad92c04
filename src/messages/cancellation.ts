import type { Pool } from 'pg';
import { type Author, recordAudit } from '../accounts/audit.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { isFinal, STATUS } from '../core/message-state.ts';
import { withdrawCampaignMessages } from '../dispatch/commit.ts';
import { countCampaignChunks } from '../dispatch/store.ts';
import { endMessages } from './end.ts';
import { insertEvents } from './events.ts';
import { insertOpenStates, type Key, listDeliveryStates, withdrawFromQueue } from './expiry.ts';
import type { StateMove } from './store.ts';

/**
 * Cancels messages that wait in the queue, in the caller's transaction: they end DELETED and their credit is returned.
 *
 * @returns the ids of the cancelled messages; the others were submitted to a carrier or have a final state already
 */
export async function cancelMessages(
  tx: Db,
  keys: readonly Key[],
  { by, now }: { readonly by: string; readonly now: Date },
): Promise<Set<string>> {
  const waiting = await withdrawFromQueue(tx, keys);
  return endWithdrawn(
    tx,
    keys.filter((key) => waiting.has(key.id)),
    { by, now },
  );
}

/**
 * Ends messages that were withdrawn from the queue and have a state. Returns the ids of those that were not final
 * before.
 */
export async function endWithdrawn(
  tx: Db,
  keys: readonly Key[],
  { by, now }: { readonly by: string; readonly now: Date },
): Promise<Set<string>> {
  await insertEvents(
    tx,
    keys.map(({ accountId, id }) => ({ accountId, messageId: id, connectionId: null, kind: 'cancelled', text: by })),
  );
  const stayed = await endMessages(
    tx,
    keys.map((key) => toDeleted(key, by, now)),
  );
  return new Set(keys.map(({ id }) => id)).difference(stayed);
}

/** The error code of messages that were withdrawn before they were sent. */
export const CANCELLED = 'CANCELLED';

const toDeleted = ({ accountId, id }: Key, by: string, doneAt: Date): StateMove => ({
  accountId,
  id,
  status: STATUS.DELETED,
  doneAt,
  errorCode: CANCELLED,
  errorText: `cancelled by ${by} before it was sent`,
});

/**
 * Maximum attempts: a chunk that returns to the queue gets a new row, and an attempt that waited for the old row finds
 * neither.
 */
const MAX_ATTEMPTS = 3;

/**
 * Cancels one message of the account. Returns false, with nothing changed, when it is on its way or has a final state.
 */
export async function cancelMessage(
  pool: Pool,
  actor: Author,
  { id, now }: { readonly id: string; readonly now: Date },
): Promise<boolean> {
  const keys = [{ accountId: actor.accountId, id }];
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const cancelled = await tenantTransaction(pool, actor, async (tx) => {
      const ids = await cancelMessages(tx, keys, { by: 'the client', now });
      if (ids.has(id)) await recordAudit(tx, actor, { action: 'message.cancel', subject: `message:${id}` });
      return ids.has(id);
    });
    if (cancelled) return true;
    const [state] = await listDeliveryStates(tenant(pool, actor), keys);
    if (!state || state.submittedAt !== null || (state.status !== null && isFinal(state.status))) break;
  }
  return false;
}

const MAX_MESSAGES_PER_CHUNK = 1000;

/**
 * Withdraws waiting messages of a campaign in the caller's transaction, as its last step: they end DELETED and their
 * credit is returned, as with `cancelMessages`. It takes whole chunks, including parked and claimed ones, as many as
 * `limit` messages may need. Call it again in a new transaction until no more wait; messages that a carrier postpones
 * in the meantime return to the queue and are found by a later call.
 *
 * @returns how many were withdrawn, how many of them ended because of it (the others had a final state), and whether
 * more wait, here or with a worker that has not submitted them
 */
export async function withdrawCampaign(
  tx: Db,
  { accountId, campaignId, by, now }: { accountId: number; campaignId: number; by: string; now: Date },
  limit: number,
): Promise<{ withdrawn: number; ended: number; more: boolean }> {
  const ids = await withdrawCampaignMessages(tx, { accountId, campaignId }, Math.ceil(limit / MAX_MESSAGES_PER_CHUNK));
  const keys = ids.map((id) => ({ accountId, id }));
  const { waiting, owned } = await countCampaignChunks(tx, { campaignId });
  const more = waiting + owned > 0;
  if (keys.length === 0) return { withdrawn: 0, ended: 0, more };
  await insertOpenStates(tx, keys);
  const ended = await endWithdrawn(tx, keys, { by, now });
  return { withdrawn: keys.length, ended: ended.size, more };
}
