import type { Outcome } from '../../carriers/outcome.ts';
import type { Db } from '../../platform/db/query.ts';
import type { HeldChunk, Settled } from './held.ts';
import { insertChunks, insertRetryChunk, type OnUnknown } from './sql.ts';

/** Messages of one chunk that are queued again in the same way. */
type Group = {
  readonly chunk: HeldChunk;
  readonly elsewhere: boolean;
  readonly counts: boolean;
  readonly afterMs: number;
  /** The connections to which they may move after the next response. */
  readonly alternates: readonly number[];
  readonly onUnknown: OnUnknown;
  readonly ids: string[];
};

/**
 * Queues messages with outcome `retry` again, in one new chunk per old chunk, delay and connection. Messages with
 * outcome `unknown` are queued again only where their chunk has `resubmit`, and only once: after a second `unknown`
 * they are held. `settled` must contain only messages whose outcome this transaction records.
 */
export async function requeue(tx: Db, connectionId: number, settled: readonly Settled[]): Promise<void> {
  const groups = groupsOf(settled);
  const elsewhere = groups.flatMap((group) => (group.elsewhere ? toNextConnection(group) : []));
  // All statements are sent before this returns, because it may be part of a `burst`.
  await Promise.all([
    ...groups.filter((group) => !group.elsewhere).map((group) => insertRetryChunk(tx, toRetry(connectionId, group))),
    ...(elsewhere.length > 0 ? [insertChunks(tx, elsewhere)] : []),
  ]);
}

/** Lists the connections to which some of these messages move. */
export const listNextConnections = (settled: readonly Settled[]): Set<number> =>
  new Set(settled.flatMap(({ chunk, elsewhere }) => (elsewhere ? chunk.alternates.slice(0, 1) : [])));

function groupsOf(settled: readonly Settled[]): Group[] {
  const groups = new Map<string, Group>();
  for (const { chunk, job, outcome, elsewhere } of settled) {
    const again = retryOf(chunk, outcome);
    if (again === null) continue;
    const { counts, afterMs } = again;
    const key = `${chunk.id}/${outcome?.kind}/${afterMs}/${counts}/${elsewhere}`;
    const group = groups.get(key);
    if (group) group.ids.push(job.messageId);
    else groups.set(key, { chunk, elsewhere, ...again, ids: [job.messageId] });
  }
  return [...groups.values()];
}

/**
 * Makes a retry. A message that this connection may have accepted goes to no other connection, whatever the second
 * response is.
 */
function retryOf({ onUnknown, alternates }: HeldChunk, outcome: Outcome | null) {
  if (outcome?.kind === 'retry') return { afterMs: outcome.afterMs, counts: outcome.counts, onUnknown, alternates };
  if (outcome?.kind !== 'unknown' || onUnknown === 'hold') return null;
  return { afterMs: 0, counts: false, onUnknown: 'hold', alternates: [] } as const;
}

const toRetry = (connectionId: number, { chunk, counts, afterMs, alternates, onUnknown, ids }: Group) => ({
  accountId: chunk.accountId,
  connectionId,
  alternates,
  priority: chunk.priority,
  round: chunk.round,
  attempt: chunk.attempt + 1,
  tries: chunk.tries + (counts ? 1 : 0),
  afterMs,
  onUnknown,
  campaignId: chunk.campaignId,
  ids,
});

/**
 * Makes the chunk for the next connection. The connection that has rejected the messages is not among their alternates.
 */
function toNextConnection({ chunk, onUnknown, ids }: Group) {
  const [connectionId, ...alternates] = chunk.alternates;
  if (connectionId === undefined) return [];
  const { accountId, priority, attempt, campaignId } = chunk;
  const where = { accountId, connectionId, alternates, priority, campaignId };
  return [{ ...where, availableAt: null, attempt: attempt + 1, onUnknown, ids }];
}
