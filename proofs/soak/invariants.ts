import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { reconcile } from '../../src/operate/reconciliation.ts';
import type { Run } from '../lib/proof.ts';
import type { Stage } from '../lib/stage.ts';

/** Maximum time of due work in a queue. */
const MAX_WAIT_S = 30;
/** Messages that the carrier has and whose outcome is not recorded yet: what may be under way at one moment. */
const MAX_UNDER_WAY = 500;
/** The reconciliation compares the figures of this many full hours. */
const FIGURE_HOURS = 3;

/** Returns what does not hold at this moment, as sentences; none is the right number. */
export async function listBroken(stage: Stage): Promise<string[]> {
  return [...(await checkQueues(stage)), ...(await checkCarrier(stage)), ...(await checkBooks(stage))];
}

/** Every message is in the queue or has an outcome, and nothing lies in a queue. In one statement, of one instant. */
async function checkQueues({ pool }: Stage): Promise<string[]> {
  const { rows } = await pool.query<Record<'chunkS' | 'receiptS' | 'lost' | 'nowhere', number>>(
    `WITH stateless AS MATERIALIZED (
       SELECT m.id FROM message m
       WHERE NOT EXISTS (SELECT FROM message_state s WHERE s.account_id = m.account_id AND s.id = m.id)),
     queued AS MATERIALIZED (SELECT unnest(ids) AS id FROM dispatch_chunk)
     SELECT (SELECT coalesce(extract(epoch FROM now() - min(available_at)), 0)::float8 FROM dispatch_chunk) AS "chunkS",
            (SELECT coalesce(extract(epoch FROM now() - min(received_at)), 0)::float8 FROM receipt_batch) AS "receiptS",
            (SELECT count(*)::int FROM lost_chunk) AS lost,
            (SELECT count(*)::int FROM stateless WHERE id NOT IN (SELECT id FROM queued)) AS nowhere`,
  );
  const { chunkS = 0, receiptS = 0, lost = 0, nowhere = 0 } = rows[0] ?? {};
  return [
    ...(chunkS > MAX_WAIT_S ? [`a message has been due for ${Math.round(chunkS)} s`] : []),
    ...(receiptS > MAX_WAIT_S ? [`a receipt has been stored for ${Math.round(receiptS)} s`] : []),
    ...(lost > 0 ? [`${lost} chunks had messages that do not exist`] : []),
    ...(nowhere > 0 ? [`${nowhere} messages have no outcome and are in no queue`] : []),
  ];
}

/**
 * Compares the messages recorded as accepted with the carrier's count; a difference up to `MAX_UNDER_WAY` is allowed.
 */
async function checkCarrier({ pool, carrier }: Stage): Promise<string[]> {
  const recorded = async (): Promise<number> => {
    const { rows } = await pool.query('SELECT count(*)::int AS n FROM message_state WHERE carrier_id IS NOT NULL');
    return rows[0].n;
  };
  const before = await recorded();
  const { accepted } = await carrier.counts();
  const after = await recorded();
  if (before > accepted) return [`${before} messages are recorded as accepted, and the carrier accepted ${accepted}`];
  if (accepted > after + MAX_UNDER_WAY)
    return [`the carrier accepted ${accepted} messages, and ${after} are recorded as accepted`];
  return [];
}

/** Balances, ledger, reserved credit and figures agree. */
async function checkBooks({ pool }: Stage): Promise<string[]> {
  const checks = await reconcile(pool, { hours: FIGURE_HOURS, now: new Date() });
  return checks
    .filter(({ ok }) => ok !== true)
    .map(({ name, detail, data }) => `${name}: ${detail} ${JSON.stringify(data)}`);
}

/** Returns a function that returns the lines of the log at level error or above that are new since its last call. */
export function watchLog({ folder }: Pick<Run, 'folder'>): () => Promise<string[]> {
  const file = join(folder, 'stderr.log');
  let read = 0;
  return async () => {
    const { size } = await stat(file);
    if (size === read) return [];
    const input = createReadStream(file, { start: read, end: size - 1 });
    read = size;
    const found: string[] = [];
    for await (const line of createInterface({ input })) if (isFault(line)) found.push(line);
    return found;
  };
}

/** Returns true for errors in the log, and for output that is not a line of the log, such as a warning of Node. */
function isFault(line: string): boolean {
  try {
    const { level } = JSON.parse(line) as { level?: string };
    return level === 'error' || level === 'fatal';
  } catch {
    return line.trim() !== '';
  }
}
