import type { Outcome } from '../../carriers/outcome.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Job } from '../../network/dispatch/held.ts';
import type { Chunk } from '../../network/dispatch/sql.ts';
import { boundsOf } from '../../platform/lib/ids.ts';
import { FULL_ONLY, type Resolver, type StoredContent } from '../../network/templates/content.ts';
import { validUntilOf } from './validity.ts';
import { listQueuedMessages, type QueuedMessage } from './sql.ts';

type Key = { readonly accountId: number; readonly id: string };

/**
 * The dispatcher's `load`: the messages of each chunk as the carrier needs them, in the places of their ids. Templates
 * are filled in here; one that cannot be any more is refused without being sent.
 */
export async function loadJobs(
  pool: Db,
  chunks: readonly Chunk[],
  resolver: Resolver = FULL_ONLY,
): Promise<(Job | undefined)[][]> {
  const messages = chunks.flatMap(({ accountId, ids }) => ids.map((id) => ({ accountId, id })));
  const [firstId, lastId] = boundsOf(messages.map((message) => message.id));
  const jobs: (Job | undefined)[] = messages.map(() => undefined);
  const rich: { n: number; accountId: number; content: StoredContent }[] = [];
  for (const row of await listQueuedMessages(pool, { messages, firstId, lastId })) {
    const [n, content] = row;
    const { accountId, id } = messages[n] as Key;
    jobs[n] = toJob(id, row);
    if (content !== null) rich.push({ n, accountId, content });
  }
  if (rich.length > 0) await resolver.load(rich);
  for (const { n, accountId, content } of rich)
    jobs[n] = { ...(jobs[n] as Job), ...sendable(resolver.resolve(accountId, content)) };
  let start = 0;
  return chunks.map(({ ids }) => jobs.slice(start, (start += ids.length)));
}

const NO_TEMPLATE: Outcome = {
  kind: 'refused',
  status: 'ERROR',
  code: 'TEMPLATE',
  text: 'its template or its file is gone, or may not be sent any more',
  carrierIds: [],
};

const sendable = (content: ReturnType<Resolver['resolve']>): Partial<Job> =>
  content === null ? { refusal: NO_TEMPLATE } : { content };

function toJob(messageId: string, row: QueuedMessage): Job {
  const [, , sender, destination, body, udh, data, parts, wantReceipt, validUntil, scheduledAt] = row;
  const job: Job = {
    messageId,
    destination,
    sender,
    body,
    validUntil: validUntilOf({ id: messageId, validUntil, scheduledAt }),
    wantReceipt,
    parts,
    priceMicros: row[11],
    refundUndelivered: row[12],
    channel: row[13] ?? 'SMS',
    campaignId: row[14],
    keepsReserve: row[15] ?? false,
  };
  return data ? { ...job, binary: { udh: udh ?? new Uint8Array(), data } } : job;
}
