import type { Db } from '../db/query.ts';
import type { HeldChunk, Settled } from './held.ts';
import { insertRetryChunk } from './sql.ts';

/**
 * Queues the messages with outcome `retry` again, one chunk for each chunk and delay that they came with.
 * `recorded` holds the ids whose outcome this transaction really wrote: a commit that is repeated because its answer
 * was lost finds nothing to queue a second time.
 */
export async function requeue(
  tx: Db,
  connectionId: number,
  settled: readonly Settled[],
  recorded: ReadonlySet<string>,
): Promise<void> {
  const groups = new Map<HeldChunk, Map<number, string[]>>();
  for (const { chunk, job, outcome } of settled) {
    if (outcome.kind !== 'retry' || !recorded.has(job.messageId)) continue;
    const delays = groups.get(chunk) ?? new Map<number, string[]>();
    delays.set(outcome.afterMs, [...(delays.get(outcome.afterMs) ?? []), job.messageId]);
    groups.set(chunk, delays);
  }
  // All sent before this returns: it may be part of a `burst`.
  await Promise.all(
    [...groups].flatMap(([{ accountId, priority, round, attempt }, delays]) =>
      [...delays].map(([afterMs, ids]) =>
        insertRetryChunk(tx, { accountId, connectionId, priority, round, attempt: attempt + 1, afterMs, ids }),
      ),
    ),
  );
}
