import type { NewMessage } from '../messages/new/sql.ts';
import type { Pool } from 'pg';
import { type Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { endMessages } from '../messages/end.ts';
import { insertStates, type StateMove } from '../messages/sql.ts';
import { STATUS } from '../states.ts';
import { publishAccepted } from '../messages/publish-events.ts';
import * as db from './sql.ts';

const SOON_MS = 1000;
const LATE_MS = 30_000;
const BATCH_SIZE = 1000;

/** The final state of a simulated message and its delay; null: never. */
type Ending = { readonly status: number; readonly delayMs: number } | null;

/** A planned outcome that is not in the status table: delivered, and read at the same instant. */
const READ = 100;

const soon = (status: number): Ending => ({ status, delayMs: SOON_MS });
const DELIVERED_SOON = soon(STATUS.DELIVERED);

/** The endings of all channels, by the last four digits of the number. */
const ENDINGS: Readonly<Record<string, Ending>> = {
  '0002': soon(STATUS.EXPIRED),
  '0004': null,
  '0005': { status: STATUS.DELIVERED, delayMs: LATE_MS },
};

/** The endings on RCS. A failure there is ERROR: REJECTED and UNDELIVERABLE are states of SMS alone (specification). */
const RCS_ENDINGS: Readonly<Record<string, Ending>> = {
  ...ENDINGS,
  '0001': soon(STATUS.ERROR),
  '0003': soon(STATUS.ERROR),
  '0006': soon(READ),
  '0007': soon(STATUS.UNSUPPORTED),
  '0008': soon(STATUS.DISABLED),
};

/** The endings that differ from a delivery after a second, by channel: only states that the channel has. */
const BY_CHANNEL: Readonly<Record<Channel, Readonly<Record<string, Ending>>>> = {
  SMS: { ...ENDINGS, '0001': soon(STATUS.UNDELIVERABLE), '0003': soon(STATUS.REJECTED) },
  RCS: RCS_ENDINGS,
  WHATSAPP: { ...RCS_ENDINGS, '0009': soon(STATUS.CONVERSATION_CLOSED) },
};

function endingOf({ channel, destination }: NewMessage): Ending {
  const ending = BY_CHANNEL[channel][destination.slice(-4)];
  return ending === undefined ? DELIVERED_SOON : ending;
}

/** Moves simulated messages to ACCEPTED and plans their final states, in the caller's transaction. */
export async function planSimulation(tx: Db, messages: readonly NewMessage[]): Promise<void> {
  await insertStates(
    tx,
    messages.map(({ accountId, id, channel, campaignId }) => ({
      accountId,
      id,
      channel,
      campaignId,
      status: STATUS.ACCEPTED,
      attempts: 1,
      connectionId: null,
      carrierId: null,
      submitted: true,
      errorCode: null,
      errorText: null,
      possibleDuplicate: false,
      creditHeld: false,
      creditReturned: false,
    })),
  );
  const planned = messages.flatMap((message) => {
    const ending = endingOf(message);
    return ending === null ? [] : [{ accountId: message.accountId, messageId: message.id, ...ending }];
  });
  if (planned.length > 0) await db.insertSimulated(tx, planned);
  await publishAccepted(tx, messages);
}

/**
 * Ends the simulated messages whose time has come. Their plans are rows that workers claim, so any worker may run this
 * at any time and a restart loses none.
 *
 * @returns how many messages ended
 */
export function endSimulated(pool: Pool): Promise<number> {
  return transaction(pool, async (tx) => {
    const due = await db.deleteDueSimulated(tx, BATCH_SIZE);
    if (due.length === 0) return 0;
    const reads = due
      .filter(({ status }) => status === READ)
      .map(({ accountId, messageId, dueAt }) => ({ accountId, id: messageId, readAt: dueAt }));
    await endMessages(tx, due.map(toMove), { reads, counted: false });
    return due.length;
  });
}

function toMove({ accountId, messageId, dueAt, ...planned }: db.SimulatedOutcome): StateMove {
  const status = planned.status === READ ? STATUS.DELIVERED : planned.status;
  const errorText = status === STATUS.DELIVERED ? null : 'simulated';
  return { accountId, id: messageId, status, doneAt: dueAt, errorCode: null, errorText };
}
