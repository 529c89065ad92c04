import { recordAudit } from '../../../identity/audit/record.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError, invalidFields } from '../../../platform/errors.ts';
import type { Actor } from '../../../platform/lib/actor.ts';
import { firstIdAt, isUuid } from '../../../platform/lib/ids.ts';
import { type Delivery, type DeliveryState, findDelivery, moveToReplayed } from '../delivery-log/sql.ts';

/**
 * Sends one event of the account again, whatever its state: with its id and body, as if it had never been tried.
 * Errors: 404 when the log has no such event, 409 when it waits behind an earlier event of its message.
 */
export async function replayEvent(tx: Db, actor: Actor, anyId: string): Promise<Delivery> {
  const id = anyId.toLowerCase();
  const { accountId } = actor;
  if (!isUuid(id) || !(await findDelivery(tx, { accountId, id }))) throw new AppError('not_found');
  const replayed = await moveToReplayed(tx, { accountId, firstId: id, lastId: id, state: null });
  const delivery = await findDelivery(tx, { accountId, id });
  if (replayed === 0 || !delivery)
    throw new AppError('conflict', { message: 'The event waits for an earlier event of its message' });
  await recordAudit(tx, actor, { action: 'webhook.replay', subject: `webhook-event:${id}` });
  return delivery;
}

export type ReplayRange = { readonly since: Date; readonly until: Date; readonly state: DeliveryState };

/**
 * Sends the events of a time range with this state again, oldest first, up to 100,000. Returns how many. Errors: 400
 * when the range ends before it begins.
 */
export async function replayRange(tx: Db, actor: Actor, { since, until, state }: ReplayRange): Promise<number> {
  if (until < since) throw invalidFields([{ field: 'until', message: 'must not be before since' }]);
  const range = { firstId: firstIdAt(since), lastId: firstIdAt(until), state };
  const replayed = await moveToReplayed(tx, { accountId: actor.accountId, ...range });
  const detail = { since: since.toISOString(), until: until.toISOString(), status: state, replayed };
  await recordAudit(tx, actor, { action: 'webhook.replay', subject: 'webhook-events', detail });
  return replayed;
}
