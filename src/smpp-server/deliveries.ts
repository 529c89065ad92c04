import type { Pool } from 'pg';
import { startLoop } from '../core/background.ts';
import { groupCommit } from '../core/db/transaction.ts';
import type { Log } from '../core/log.ts';
import { deliverFrame } from '../smpp/link.ts';
import { STATUS, statusClass, statusName } from '../smpp/status.ts';
import * as db from '../webhooks/smpp-outbox.ts';
import { type Recipient, toMessages } from './delivery-message.ts';
import type { Session } from './session.ts';

type Deps = {
  readonly pool: Pool;
  readonly owner: number;
  readonly log: Log;
  /** The open sessions of this process, bound or not. */
  sessions(): Iterable<Session>;
};

/** Task that passes the outbox on to the receivers of this process. */
export type Deliveries = {
  /** Looks for deliveries soon: the outbox has new ones, or a receiver has bound. */
  wake(): void;
  /** Gives unanswered deliveries back, and stops. Call it when all sessions have ended. */
  stop(): Promise<void>;
};

/** Interval for reading the outbox without a notification, and for finding deliveries that dead processes left. */
const POLL_MS = 5000;
/** Maximum deliveries per claim: those in memory that may be sent again after a crash. */
const MAX_CLAIM = 500;
const MAX_WAIT_SECONDS = 300;

/** Doubles the wait from five seconds to five minutes. */
const waitAfter = (failures: number): number => Math.min(MAX_WAIT_SECONDS, 5 * 2 ** Math.min(failures, 10));

/**
 * Passes receipts and inbound messages from the outbox on to receivers: each to one bind of its credential (inbound
 * messages to one of any credential of the account that takes them), in turn, within their windows. A delivery leaves
 * the outbox when it gets a response; one that gets no response in time, or with a temporary error, or whose bind or process
 * ends, is sent again, maybe by another process, so that it arrives at least once. One that the client rejects
 * permanently is dropped. The next delivery of a message is sent when the one before gets a response.
 */
export function startDeliveries({ pool, owner, log, sessions }: Deps): Deliveries {
  /** Number of holds on each delivery: one that was given back may be claimed again before its end is known here. */
  const held = new Map<number, number>();
  let sweptAt = 0;
  let turn = 0;

  const remove = groupCommit<number, void>({
    async flush(ids) {
      await db.deleteDeliveries(pool, { ids });
      return ids.map(() => undefined);
    },
  });
  const giveBack = groupCommit<db.Postponed, void>({
    async flush(rows) {
      await db.updatePostponed(pool, { owner, rows });
      return rows.map(() => undefined);
    },
  });

  async function work(): Promise<number> {
    await sweep();
    const wants = wantsOf([...sessions()].filter((session) => session.room() > 0));
    if (wants.length === 0) return POLL_MS;
    const rows = await db.claimDeliveries(pool, { owner, wants });
    for (const { id } of rows) held.set(id, (held.get(id) ?? 0) + 1);
    for (const row of rows) send(row);
    return rows.length > 0 ? 0 : POLL_MS;
  }

  async function sweep(): Promise<void> {
    if (performance.now() - sweptAt < POLL_MS) return;
    sweptAt = performance.now();
    await db.updateStray(pool, { owner, heldIds: [...held.keys()] });
  }

  function send(row: db.DeliveryRow): void {
    const session = nextFor(row);
    const bind = session?.bind;
    if (!session || !bind) return finish(giveBack({ id: row.id, waitSeconds: 0, failed: false }), row);
    const { alphabet } = bind.client;
    try {
      session.deliver(toFrames(row, { alphabet, version: bind.version }), (status) => settle(row, status));
    } catch (err) {
      // It must not keep the others from their receivers.
      log.error({ err, accountId: row.accountId, messageId: row.messageId }, 'an SMPP delivery cannot be written');
      settle(row, STATUS.ESME_RSYSERR);
    }
  }

  /** Returns the next receiver in turn that may have the delivery and has room. */
  function nextFor(row: db.DeliveryRow): Session | undefined {
    const able = [...sessions()].filter((session) => session.room() > 0 && isFor(session, row));
    turn += 1;
    return able[turn % Math.max(1, able.length)];
  }

  function settle(row: db.DeliveryRow, status: number | null): void {
    if (status === STATUS.ESME_ROK) return finish(remove(row.id), row);
    if (status !== null && isForGood(status)) {
      const { accountId, messageId } = row;
      log.info(
        { accountId, messageId, status: statusName(status) },
        'a receiver rejected an SMPP delivery permanently',
      );
      return finish(remove(row.id), row);
    }
    finish(giveBack({ id: row.id, waitSeconds: status === null ? 0 : waitAfter(row.failures), failed: true }), row);
  }

  /**
   * Finishes a delivery. If the write fails, it stays with this owner, is found by the next sweep, and is sent again.
   */
  function finish(written: Promise<void>, { id }: db.DeliveryRow): void {
    void written
      .catch((err: unknown) => log.warn({ err }, 'the end of an SMPP delivery could not be stored'))
      .finally(() => {
        const rest = (held.get(id) ?? 1) - 1;
        if (rest === 0) held.delete(id);
        else held.set(id, rest);
        loop.wake();
      });
  }

  const loop = startLoop('SMPP deliveries', work, log);
  return {
    wake: loop.wake,
    async stop() {
      await loop.stop();
      // Others take them over when this process has ended.
      await db
        .updateStray(pool, { owner, heldIds: [] })
        .catch((err: unknown) => log.warn({ err }, 'SMPP deliveries could not be given back'));
    },
  };
}

const toFrames = (row: db.DeliveryRow, to: Recipient): Buffer[] => toMessages(row, to).map(deliverFrame);

const isForGood = (status: number): boolean => statusClass(status) === 'permanent';

const isFor = ({ bind }: Session, row: db.DeliveryRow): boolean => {
  if (!bind || bind.client.accountId !== row.accountId) return false;
  return row.credentialId === null ? bind.client.inbound : bind.client.id === row.credentialId;
};

/** Returns the capacity of these receivers: for receipts by credential, for inbound messages by account. */
function wantsOf(receivers: readonly Session[]): db.Want[] {
  const wants = new Map<string, db.Want>();
  const add = (accountId: number, credentialId: number | null, room: number): void => {
    const key = `${accountId}/${credentialId}`;
    const limit = Math.min(MAX_CLAIM, (wants.get(key)?.limit ?? 0) + room);
    wants.set(key, { accountId, credentialId, limit });
  };
  for (const session of receivers) {
    const client = session.bind?.client;
    if (!client) continue;
    add(client.accountId, client.id, session.room());
    if (client.inbound) add(client.accountId, null, session.room());
  }
  return [...wants.values()];
}
