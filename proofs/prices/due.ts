import { STATUS } from '../../src/core/message-state.ts';
import type { SandboxRbm } from '../../src/sandbox/rbm-server.ts';
import { takenByDestination } from '../lib/carrier.ts';
import { hasEnded } from '../lib/compare.ts';
import { exportStatuses } from '../lib/messages.ts';
import type { Run } from '../lib/proof.ts';
import type { Account, Stage } from '../lib/stage.ts';
import { readBalances } from '../money.ts';
import type { Whatsapp } from './networks.ts';
import type { Planned } from './traffic.ts';

/** Messages that the networks took and delivered: SMS by their number, the others by our message id. */
type Evidence = { readonly taken: ReadonlySet<string>; readonly delivered: ReadonlySet<string> };

/** Reads the ledgers of all networks. */
export async function collectEvidence(
  { carrier }: Stage,
  rbm: SandboxRbm,
  numbers: readonly Whatsapp[],
): Promise<Evidence> {
  const ledger = await carrier.ledger();
  const taken = new Set(takenByDestination(ledger).keys());
  const delivered = new Set(ledger.receipts.filter(({ text }) => text === 'DELIVRD').map(({ source }) => `+${source}`));
  for (const { status, messageId, delivered: isDelivered } of rbm.ledger.messages()) {
    if (status === 'OK') taken.add(messageId);
    if (isDelivered) delivered.add(messageId);
  }
  for (const { graph } of numbers) {
    const reported = new Set(graph.ledger.events().flatMap(({ id, what }) => (what === 'delivered' ? [id] : [])));
    for (const { id, opaque } of graph.ledger.messages()) {
      if (id === null || opaque === null) continue;
      taken.add(opaque);
      if (reported.has(id)) delivered.add(opaque);
    }
  }
  return { taken, delivered };
}

/** Returns what an account owes for a message that has ended, in millionths. */
function dueOf({ channel, destination, row, micros }: Planned, id: string, evidence: Evidence): number {
  const key = channel === 'SMS' ? destination : id;
  const isDue = row.refundUndelivered ? evidence.delivered.has(key) : evidence.taken.has(key);
  return isDue ? micros : 0;
}

const STALL_TIMEOUT_MS = 30_000;
const MAX_NOTES = 10;

type Closing = {
  readonly account: Account;
  /** The messages that the account was to send. */
  readonly own: readonly Planned[];
  /** Our message ids by those of the client. */
  readonly ids: ReadonlyMap<string, string>;
  readonly evidence: Evidence;
};

/** Compares an account's messages and ledger with what is due. Counts are of messages; the last one is of sums. */
export async function closeBooks(run: Run, stage: Stage, { account, own, ids, evidence }: Closing) {
  const known = own.flatMap(({ clientId }) => ids.get(clientId) ?? []);
  await exportStatuses({ ...stage, client: account.client }, known, hasEnded, STALL_TIMEOUT_MS);
  const { stored, balances } = await readTogether(stage, account);
  const counts = { stored: stored.size, missing: 0, wrongPrices: 0, unknown: 0, open: 0 };
  const due = { earned: 0, held: 0 };
  for (const message of own) {
    const id = ids.get(message.clientId) ?? '';
    const found = stored.get(id);
    if (found === undefined) counts.missing++;
    else if (found.micros !== message.micros && counts.wrongPrices++ < MAX_NOTES)
      run.log(`${nameOf(message)}, not ${found.micros}`);
    if (found?.status === STATUS.ACCEPTED) counts.open++;
    if (found?.status === STATUS.UNKNOWN) {
      counts.unknown++;
      due.held += message.micros;
    } else due.earned += dueOf(message, id, evidence);
  }
  const { earnedMicros, frozenMicros, reservedMicros, availableMicros, toppedUpMicros } = balances;
  const sums = [
    reservedMicros === due.held,
    frozenMicros === due.held,
    availableMicros === toppedUpMicros - earnedMicros - frozenMicros,
  ];
  const unbalanced = sums.filter((isRight) => !isRight).length;
  return { ...counts, earnedMicros, differenceMicros: Math.abs(earnedMicros - due.earned), frozenMicros, unbalanced };
}

export type Books = Awaited<ReturnType<typeof closeBooks>>;

const nameOf = ({ channel, destination, micros, row: { category = '*', window = '*' } }: Planned): string =>
  `${channel} to ${destination} (${category}, ${window}) must cost ${micros}`;

type Stored = { readonly id: string; readonly micros: number; readonly status: number | null };

/**
 * Reads the messages of an account by their ids and its balances as of one moment: a receipt may still settle a message
 * in doubt.
 */
async function readTogether({ pool }: Stage, account: Account) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    const { rows } = await client.query<Stored>(
      `SELECT m.id, m.price_micros AS micros, s.status FROM message m
       LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id WHERE m.account_id = $1`,
      [account.accountId],
    );
    const balances = await readBalances({ pool: client }, account);
    await client.query('COMMIT');
    return { stored: new Map(rows.map((row) => [row.id, row])), balances };
  } finally {
    client.release();
  }
}
