import type { Pool } from 'pg';
import type { Inbound, Receipt } from '../../carriers/events.ts';
import { AppError } from '../../platform/errors.ts';
import { createInboundInbox, type OnInbound } from '../inbound/receive.ts';
import { receiveSubscriptions } from '../inbound/subscriptions.ts';
import type { Clock } from '../../platform/lib/clock.ts';
import type { Log } from '../../platform/lib/log.ts';
import { createReceiptIntake } from '../receipts/intake.ts';
import type { OnMatched } from '../receipts/process.ts';
import { notifyReceipts } from '../receipts/sql.ts';
import { insertNotices } from '../../network/connections/notices/sql.ts';
import type { OnTemplatesChange } from '../../network/templates/network.ts';
import { receiveTemplateChanges } from '../../network/templates/receive-changes.ts';
import type { CallbackAnswer } from '../../network/connections/kinds/callback.ts';

export type CallbackStoreDeps = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly log: Log;
  readonly onInbound: OnInbound;
  readonly onTemplatesChange: OnTemplatesChange;
  readonly onMatched?: OnMatched | undefined;
};

/** The events that a callback reported. */
export type CallbackEvents = Extract<CallbackAnswer, { kind: 'events' }>;

/** Commits the events of a callback. Resolves when all of them are committed; rejects when any of them may not be. */
export type StoreCallback = (connectionId: number, events: CallbackEvents) => Promise<void>;

/**
 * Maximum events that wait for their commit; above it the network is asked to try again later: it keeps them for days.
 */
const MAX_WAITING = 20_000;

/**
 * Creates the store of callbacks, which commits their events in the same way as those of SMPP. Workers are woken for
 * the receipts that are left to them, once for all that are committed together.
 */
export function createCallbackStore(deps: CallbackStoreDeps): StoreCallback {
  const { pool, clock, log, onInbound, onTemplatesChange } = deps;
  const wakeWorkers = (left: 'stored' | 'parked') => (): void => {
    notifyReceipts(pool, left).catch((err: unknown) =>
      log.warn({ err }, 'cannot wake workers for receipts: they are processed later'),
    );
  };
  const takeReceipt = createReceiptIntake({
    pool,
    now: () => clock.now(),
    log,
    onStored: wakeWorkers('stored'),
    onParked: wakeWorkers('parked'),
    onMatched: deps.onMatched,
  });
  const storeInbound = createInboundInbox({ pool, onInbound });
  let waiting = 0;

  return async (connectionId, { receipts, inbounds, subscriptions, templates, notices }) => {
    const count = receipts.length + inbounds.length;
    if (waiting > 0 && waiting + count > MAX_WAITING) throw new AppError('unavailable', { retryAfterSeconds: 5 });
    waiting += count;
    try {
      await Promise.all([
        ...receipts.map((receipt: Receipt) => takeReceipt({ connectionId, receipt })),
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
