import type { Pool } from 'pg';
import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { endMessages } from '../messages/end.ts';
import { insertEvents } from '../messages/events/sql.ts';
import { type Key, listDeliveryStates } from '../expiry/sql.ts';
import { withdrawFromQueue } from '../expiry/withdraw.ts';
import type { StateMove } from '../messages/sql.ts';
import { isFinal, STATUS } from '../states.ts';

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
