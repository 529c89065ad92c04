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
 * Takes messages back that wait in the queue: they end DELETED and their credit returns, in the caller's transaction.
 *
 * @returns the ids that waited; of the others a carrier has seen something, or they have an end already
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

/** Ends messages that were taken back from the queue and have a state. Answers those that had no end before. */
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

const toDeleted = ({ accountId, id }: Key, by: string, doneAt: Date): StateMove => ({
  accountId,
  id,
  status: STATUS.DELETED,
  doneAt,
  errorCode: 'CANCELLED',
  errorText: `cancelled by ${by} before it was sent`,
});

/** A chunk that is given back gets a new row: a look that waited for the old one finds neither. */
const LOOKS = 3;

/** Cancels one message of the account, unless it is on its way or ended: false then, and nothing has changed. */
export async function cancelMessage(
  pool: Pool,
  actor: Author,
  { id, now }: { readonly id: string; readonly now: Date },
): Promise<boolean> {
  const keys = [{ accountId: actor.accountId, id }];
  for (let look = 1; look <= LOOKS; look++) {
    const cancelled = await tenantTransaction(pool, actor, async (tx) => {
      const ids = await cancelMessages(tx, keys, { by: 'the client', now });
      if (ids.has(id)) await recordAudit(tx, actor, { action: 'message.cancel', subject: `message:${id}` });
      return ids.has(id);
    });
    if (cancelled) return true;
    const [standing] = await listDeliveryStates(tenant(pool, actor), keys);
    if (!standing || standing.submittedAt !== null || (standing.status !== null && isFinal(standing.status))) break;
  }
  return false;
}
