import type { Pool } from 'pg';
import type { Inbound, Receipt } from '../../carriers/events.ts';
import { AppError } from '../../platform/errors.ts';
import { createInboundInbox, type OnInbound } from '../inbound/receive.ts';
import { receiveSubscriptions } from '../inbound/subscriptions.ts';
import type { Log } from '../../platform/lib/log.ts';
import { createReceiptInbox } from '../receipts/inbox.ts';
import { notifyReceipts } from '../receipts/sql.ts';
import type { OnTemplatesChange } from '../../network/templates/network.ts';
import { receiveTemplateChanges } from '../../network/templates/receive-changes.ts';
import type { CallbackAnswer } from '../../network/connections/kinds/callback.ts';

export type CallbackStoreDeps = {
  readonly pool: Pool;
  readonly log: Log;
  readonly onInbound: OnInbound;
  readonly onTemplatesChange: OnTemplatesChange;
};

export type CallbackEvents = Extract<CallbackAnswer, { kind: 'events' }>;

/** Commits what a callback told. Resolves when nothing of it can be lost any more; rejects when any of it may be. */
export type StoreCallback = (connectionId: number, events: CallbackEvents) => Promise<void>;

/** More than this many that wait for their commit, and the network is asked to come back: it keeps them for days. */
const MOST_WAITING = 20_000;

/**
 * Puts the events of callbacks into the same inboxes as those of SMPP. Whichever process took them, a worker works them
 * off: it is woken once for all that are committed together.
 */
export function createCallbackStore({ pool, log, onInbound, onTemplatesChange }: CallbackStoreDeps): StoreCallback {
  const wakeWorkers = (): void => {
    notifyReceipts(pool).catch((err: unknown) => log.warn({ err }, 'workers are not told of receipts and look later'));
  };
  const storeReceipt = createReceiptInbox(pool, wakeWorkers);
  const storeInbound = createInboundInbox({ pool, onInbound });
  let waiting = 0;

  return async (connectionId, { receipts, inbounds, subscriptions, templates }) => {
    const count = receipts.length + inbounds.length;
    if (waiting > 0 && waiting + count > MOST_WAITING) throw new AppError('unavailable', { retryAfterSeconds: 5 });
    waiting += count;
    try {
      await Promise.all([
        ...receipts.map((receipt: Receipt) => storeReceipt({ connectionId, receipt })),
        ...inbounds.map((inbound: Inbound) => storeInbound({ connectionId, inbound })),
        receiveSubscriptions(pool, connectionId, subscriptions),
        receiveTemplateChanges({ pool, onTemplatesChange }, connectionId, templates),
      ]);
    } finally {
      waiting -= count;
    }
  };
}
