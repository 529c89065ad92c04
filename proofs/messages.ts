import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../src/testing/client.ts';
import type { Stage } from './stage.ts';

export type StatusRecord = Awaited<ReturnType<Client['status']>>;

const DESTINATIONS_A_REQUEST = 2000;
const LOOK_MS = 300;

/** A number of its own for each message, whose last four digits ask the sandbox for nothing special. */
export const destinationOf = (n: number): string =>
  `+39${300_000_000 + Math.floor(n / 9000)}${String(n % 9000).padStart(4, '0')}`;

/** Sends one text to all these numbers; answers our ids, in that order. Every one must be accepted. */
export async function sendBulk({ client }: Stage, destinations: readonly string[], body: string): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < destinations.length; i += DESTINATIONS_A_REQUEST) {
    const part = destinations.slice(i, i + DESTINATIONS_A_REQUEST);
    const { results } = await client.bulk({ messages: [{ destinations: part, sender: 'Acme', body }] });
    ids.push(...results.flatMap(({ id }) => id ?? []));
  }
  if (ids.length !== destinations.length) throw new Error(`${ids.length} of ${destinations.length} were accepted`);
  return ids;
}

/**
 * Waits until no message waits for a submit any more and every answer is recorded: the queue is empty, and the inbox
 * of receipts too. Gives up when nothing has moved for `patienceMs`; what is missing then shows in the comparison.
 */
export async function untilQuiet({ pool, carrier }: Stage, patienceMs: number): Promise<boolean> {
  let [seen, at] = ['', performance.now()];
  for (;;) {
    const now = await lookAt(pool).catch(() => 'away');
    const { submits, receiptsAcked, waiting } = await carrier.counts();
    if (now === '0/0' && waiting === 0) return true;
    const all = `${now}/${submits}/${receiptsAcked}/${waiting}`;
    if (all !== seen) [seen, at] = [all, performance.now()];
    if (performance.now() - at > patienceMs) return false;
    await delay(LOOK_MS);
  }
}

async function lookAt(pool: Stage['pool']): Promise<string> {
  const { rows } = await pool.query(
    `SELECT (SELECT coalesce(sum(size - intent), 0) + count(*) FROM dispatch_chunk) AS queued,
            (SELECT count(*) FROM receipt_batch) AS arrived`,
  );
  return `${rows[0].queued}/${rows[0].arrived}`;
}

/**
 * What the interface says of these messages, once it says what is `expected` of each, or whatever it says when none
 * has come any nearer to that for `patienceMs`.
 */
export async function exportStatuses(
  { client }: Stage,
  ids: readonly string[],
  expected: (record: StatusRecord) => boolean,
  patienceMs: number,
): Promise<StatusRecord[]> {
  const records = new Map<string, StatusRecord>();
  const isOpen = (id: string): boolean => {
    const record = records.get(id);
    return record === undefined || !expected(record);
  };
  let [open, at] = [ids, performance.now()];
  for (;;) {
    for (const record of await client.statuses(open)) records.set(record.messageId, record);
    const still = open.filter(isOpen);
    if (still.length < open.length) [open, at] = [still, performance.now()];
    if (open.length === 0 || performance.now() - at > patienceMs) return ids.flatMap((id) => records.get(id) ?? []);
    await delay(LOOK_MS);
  }
}

export type Doubt = { readonly messageId: string; readonly reason: string };

/** The list of messages whose outcome nobody knows. */
export async function listUnknown({ pool }: Stage): Promise<Doubt[]> {
  const { rows } = await pool.query<Doubt>('SELECT message_id AS "messageId", reason FROM unknown_outcome');
  return rows;
}
