import type { Pool } from 'pg';
import { always, type Task, whenDue } from '../core/background.ts';
import type { Channel } from '../core/channels.ts';
import { bigint, input, insertRows, int, smallint, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, one, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { STATUS } from '../core/message-state.ts';
import { SECOND_MS } from '../core/time.ts';
import { endMessages } from './end.ts';
import { publishSent } from './events.ts';
import type { NewMessage } from './new-messages.ts';
import { insertStates, type StateMove } from './store.ts';

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
      submittedAt: new Date(),
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
  if (planned.length > 0) await insertSimulated(tx, planned);
  await publishSent(tx, messages);
}

/**
 * Ends the simulated messages whose time has come. Their plans are rows that workers claim, so any worker may run this
 * at any time and a restart loses none.
 *
 * @returns how many messages ended
 */
export function endSimulated(pool: Pool): Promise<number> {
  return transaction(pool, async (tx) => {
    const due = await deleteDueSimulated(tx, BATCH_SIZE);
    if (due.length === 0) return 0;
    const reads = due
      .filter(({ status }) => status === READ)
      .map(({ accountId, messageId, dueAt }) => ({ accountId, id: messageId, readAt: dueAt }));
    await endMessages(tx, due.map(toMove), { reads, counted: false });
    return due.length;
  });
}

function toMove({ accountId, messageId, dueAt, ...planned }: SimulatedOutcome): StateMove {
  const status = planned.status === READ ? STATUS.DELIVERED : planned.status;
  const errorText = status === STATUS.DELIVERED ? null : 'simulated';
  return { accountId, id: messageId, status, doneAt: dueAt, errorCode: null, errorText };
}

type Key = { readonly accountId: number; readonly messageId: string };

/** NOTIFY channel that is raised when outcomes are planned, so that workers look for the next one immediately. */
const SIMULATED_CHANNEL = 'heliograph_simulated';

/** Plans the final state of simulated messages. */
async function insertSimulated(
  db: Db,
  rows: readonly (Key & { readonly status: number; readonly delayMs: number })[],
): Promise<void> {
  await exec(
    db,
    sql`WITH planned AS (
        ${insertRows(
          'simulated_outcome',
          rows,
          { accountId: bigint, messageId: uuid, status: smallint, delayMs: input(int) },
          { due_at: sql`now() + u.delay_ms * interval '1 millisecond'` },
        )})
        SELECT pg_notify(${SIMULATED_CHANNEL}, '')`,
  );
}

const SIMULATED_OUTCOME = columns({
  accountId: as<number>('o.account_id'),
  messageId: as<string>('o.message_id'),
  status: as<number>('o.status'),
  dueAt: as<Date>('o.due_at'),
});
type SimulatedOutcome = RowOf<typeof SIMULATED_OUTCOME>;

/** Takes the oldest `limit` simulated outcomes whose time has come. They are deleted when the transaction commits. */
const deleteDueSimulated = (db: Db, limit: number): Promise<SimulatedOutcome[]> =>
  many(
    db,
    sql`DELETE FROM simulated_outcome o
        USING (SELECT account_id, message_id FROM simulated_outcome WHERE due_at <= now()
               ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) AS due
        WHERE o.account_id = due.account_id AND o.message_id = due.message_id
        RETURNING ${SIMULATED_OUTCOME}`,
  );

/** Returns how long it is until the next simulated outcome is due, in ms; null when there is none. */
export async function findNextSimulatedMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(due_at) - now()) * 1000)::float8 AS ms FROM simulated_outcome`,
  );
  return ms;
}

/** Ends simulated messages when their time has come. */
export const simulationTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  {
    name: 'simulated outcomes',
    pausable: true,
    work: whenDue(
      () => endSimulated(pool),
      () => findNextSimulatedMs(pool),
      10 * SECOND_MS,
    ),
    wakeOn: { [SIMULATED_CHANNEL]: always },
  },
];
