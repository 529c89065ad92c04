import type { Pool } from 'pg';
import type { Inbound, Receipt } from '../../carriers/events.ts';
import { AppError } from '../../platform/errors.ts';
import { createInboundInbox, type OnInbound } from '../inbound/receive.ts';
import { receiveSubscriptions } from '../inbound/subscriptions.ts';
import type { Log } from '../../platform/lib/log.ts';
import { createReceiptInbox } from '../receipts/inbox.ts';
import { notifyReceipts } from '../receipts/sql.ts';
import { insertNotices } from '../../network/connections/notices/sql.ts';
import type { OnTemplatesChange } from '../../network/templates/network.ts';
import { receiveTemplateChanges } from '../../network/templates/receive-changes.ts';
import type { CallbackAnswer } from '../../network/connections/kinds/callback.ts';

export type CallbackStoreDeps = {
  readonly pool: Pool;
  readonly log: Log;
  readonly onInbound: OnInbound;
  readonly onTemplatesChange: OnTemplatesChange;
};

/** The events that a callback reported. */
export type CallbackEvents = Extract<CallbackAnswer, { kind: 'events' }>;

/** Commits the events of a callback. Resolves when all of them are committed; rejects when any of them may not be. */
export type StoreCallback = (connectionId: number, events: CallbackEvents) => Promise<void>;

/** When more events than this wait for their commit, the network is asked to come back: it keeps them for days. */
const MAX_WAITING = 20_000;

/**
 * Creates the store of callbacks, which puts their events into the same inboxes as those of SMPP. Workers process the
 * receipts, whichever process has stored them, and are woken once for all that are committed together.
 */
export function createCallbackStore({ pool, log, onInbound, onTemplatesChange }: CallbackStoreDeps): StoreCallback {
  const wakeWorkers = (): void => {
    notifyReceipts(pool).catch((err: unknown) =>
      log.warn({ err }, 'cannot wake workers for receipts: they are processed later'),
    );
  };
  const storeReceipt = createReceiptInbox(pool, wakeWorkers);
  const storeInbound = createInboundInbox({ pool, onInbound });
  let waiting = 0;

  return async (connectionId, { receipts, inbounds, subscriptions, templates, notices }) => {
    const count = receipts.length + inbounds.length;
    if (waiting > 0 && waiting + count > MAX_WAITING) throw new AppError('unavailable', { retryAfterSeconds: 5 });
    waiting += count;
    try {
      await Promise.all([
        ...receipts.map((receipt: Receipt) => storeReceipt({ connectionId, receipt })),
        ...inbounds.map((inbound: Inbound) => storeInbound({ connectionId, inbound })),
        receiveSubscriptions(pool, connectionId, subscriptions),
        insertNotices(pool, { connectionId, notices }),
        receiveTemplateChanges({ pool, onTemplatesChange }, connectionId, templates),
      ]);
    } finally {
      waiting -= count;
    }
  };
}
