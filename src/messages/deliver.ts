import type { Outcome } from '../carriers/outcome.ts';
import type { Db } from '../db/query.ts';
import type { Job } from '../dispatch/held.ts';
import type { Result } from '../dispatch/pump.ts';
import type { Chunk } from '../dispatch/sql.ts';
import { timeOfId } from '../lib/ids.ts';
import { STATUS } from './states.ts';
import * as db from './sql.ts';

/** Carriers keep a message 24 to 72 hours when nothing is said; we say 48 hours, so that trying again has an end. */
const DEFAULT_VALIDITY_MS = 48 * 3_600_000;

/** The dispatcher's `load`: the messages of these chunks as the carrier needs them, by id. */
export async function loadJobs(pool: Db, chunks: readonly Chunk[]): Promise<Map<string, Job>> {
  const ids = chunks.flatMap((chunk) => chunk.ids);
  const accountIds = chunks.flatMap((chunk) => chunk.ids.map(() => chunk.accountId));
  const [firstId, lastId] = boundsOf(ids);
  const rows = await db.listQueuedMessages(pool, { accountIds, ids, firstId, lastId });
  return new Map(rows.map((row) => [row.id, toJob(row)]));
}

const toJob = (row: db.QueuedMessage): Job => ({
  messageId: row.id,
  destination: row.destination,
  sender: row.sender,
  body: row.body,
  ...(row.binaryBody ? { binary: { udh: row.udh ?? new Uint8Array(), data: row.binaryBody } } : {}),
  validUntil: row.validUntil ?? new Date(timeOfId(row.id).getTime() + DEFAULT_VALIDITY_MS),
  wantReceipt: row.wantReceipt,
  parts: row.parts,
});

/** The lowest and the highest of some ids: statements over partitioned tables name them to keep other days out. */
export function boundsOf(ids: readonly string[]): [firstId: string, lastId: string] {
  let [first, last] = [ids[0] as string, ids[0] as string];
  for (const id of ids) {
    if (id < first) first = id;
    if (id > last) last = id;
  }
  return [first, last];
}

/**
 * The dispatcher's `settle`: records outcomes in its transaction. Answers the ids for which this was news.
 *
 * First outcomes are plainly inserted, at half the cost of an upsert; that fails when one is recorded already. With
 * `again` such outcomes stay as they are, so a commit whose answer was lost may be repeated.
 */
export async function settleOutcomes(tx: Db, results: readonly Result[], again: boolean): Promise<ReadonlySet<string>> {
  const recorded = await record(tx, results, again);
  const news = results.filter((result) => recorded.has(result.messageId));
  const parts = news.flatMap(toParts);
  if (parts.length > 0) await db.insertParts(tx, parts);
  const unknown = news.filter((result) => result.outcome.kind === 'unknown');
  if (unknown.length > 0) await db.insertUnknowns(tx, unknown.map(toUnknown));
  return recorded;
}

async function record(tx: Db, results: readonly Result[], again: boolean): Promise<ReadonlySet<string>> {
  const states = results.map(toState);
  if (again || results.some((result) => result.attempt > 1)) return db.moveOutcomes(tx, states);
  await db.insertStates(tx, states);
  return new Set(results.map((result) => result.messageId));
}

function toState({ accountId, messageId, connectionId, attempt, outcome }: Result): db.NewState {
  const ids = outcome.kind === 'retry' ? [] : outcome.carrierIds;
  const [only] = ids.length === 1 ? ids : [];
  return {
    accountId,
    id: messageId,
    status: statusOf(outcome),
    attempts: attempt,
    connectionId,
    // Some carriers answer ROK with no id at all: nothing can be matched to that.
    carrierId: only || null,
    submitted: outcome.kind === 'accepted' || outcome.kind === 'unknown',
    errorCode: outcome.kind === 'refused' || outcome.kind === 'retry' ? outcome.code : null,
    errorText: outcome.kind === 'accepted' ? null : outcome.text,
  };
}

function statusOf(outcome: Outcome): number {
  if (outcome.kind === 'refused') return STATUS[outcome.status];
  return outcome.kind === 'unknown' ? STATUS.UNKNOWN : STATUS.ACCEPTED;
}

/** A message of one part keeps its carrier id in its state; several ids go to the parts. */
function toParts({ accountId, messageId, connectionId, outcome }: Result): db.NewPart[] {
  if (outcome.kind === 'retry' || outcome.carrierIds.length < 2) return [];
  return outcome.carrierIds.map((carrierId, index) => ({
    accountId,
    messageId,
    part: index + 1,
    connectionId,
    carrierId,
  }));
}

const toUnknown = ({ accountId, messageId, connectionId, outcome }: Result) => ({
  accountId,
  messageId,
  connectionId,
  reason: outcome.kind === 'unknown' ? outcome.text : '',
});
