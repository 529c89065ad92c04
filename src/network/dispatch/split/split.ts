import type { Pool } from 'pg';
import type { Carrier } from '../../../carriers/carrier.ts';
import type { Job } from '../held.ts';
import type { Chunk } from '../sql.ts';
import { splitChunk } from './sql.ts';

type Loaded = { readonly chunk: Chunk; readonly jobs: readonly Job[] };

/**
 * Divides a claimed chunk by the limits of its messages, where the network counts each sender separately. An intent
 * counts messages from the start of a chunk, so one whose sender must wait would hold back those of other senders
 * behind it.
 */
export async function splitBySender(
  pool: Pool,
  { owner, carrier }: { readonly owner: number; readonly carrier: Carrier },
  { chunk, jobs }: Loaded,
): Promise<Loaded[]> {
  const groups = [...Map.groupBy(jobs, ({ sender }) => carrier.paceOf?.(sender)).values()];
  if (groups.length < 2) return [{ chunk, jobs }];
  const lists = groups.map((group) => group.map(({ messageId }) => messageId));
  const ids = await splitChunk(pool, { owner, id: chunk.id, lists });
  return ids.map((id, n) => ({
    chunk: { ...chunk, id, round: chunk.round + startOf(lists, n), ids: lists[n] ?? [] },
    jobs: groups[n] ?? [],
  }));
}

const startOf = (lists: readonly (readonly string[])[], n: number): number => lists.slice(0, n).flat().length;
