import type { Outcome } from '../../carriers/outcome.ts';
import type { Db } from '../../platform/db/query.ts';
import type { Job } from '../../network/dispatch/held.ts';
import type { Chunk } from '../../network/dispatch/sql.ts';
import { boundsOf } from '../../platform/lib/ids.ts';
import { WHOLE_CONTENT_ONLY, type Resolver, type StoredContent } from '../../network/templates/content.ts';
import { validUntilOf } from './validity.ts';
import type { RecentMessages } from './new/recent.ts';
import type { NewMessage } from './new/sql.ts';
import { listQueuedMessages, type QueuedMessage } from './sql.ts';

type Key = { readonly accountId: number; readonly id: string };

/**
 * The dispatcher's `load`: returns the messages of each chunk as the carrier needs them, in the order of the chunk's
 * ids; undefined stands for a message that no longer exists. Templates are filled in here. A message whose template
 * cannot be filled in any more gets a rejection and is not sent.
 */
export async function loadJobs(
  pool: Db,
  chunks: readonly Chunk[],
  resolver: Resolver = WHOLE_CONTENT_ONLY,
): Promise<(Job | undefined)[][]> {
  const messages = chunks.flatMap(({ accountId, ids }) => ids.map((id) => ({ accountId, id })));
  const [firstId, lastId] = boundsOf(messages.map((message) => message.id));
  const jobs: (Job | undefined)[] = messages.map(() => undefined);
  const rich: { n: number; accountId: number; content: StoredContent }[] = [];
  for (const row of await listQueuedMessages(pool, { messages, firstId, lastId })) {
    const { n, accountId, content, job } = readRow(messages, row);
    jobs[n] = job;
    if (content !== null) rich.push({ n, accountId, content });
  }
  if (rich.length > 0) await resolver.load(rich);
  for (const { n, accountId, content } of rich)
    jobs[n] = { ...(jobs[n] as Job), ...resolved(resolver, accountId, content) };
  let start = 0;
  return chunks.map(({ ids }) => jobs.slice(start, (start += ids.length)));
}

/**
 * `loadJobs` that takes the messages of chunks which this process has just committed from memory. `resolver` and errors
 * as there; the jobs are the same as if all were read from the database.
 */
export async function loadRecentJobs(
  pool: Db,
  chunks: readonly Chunk[],
  { recent, resolver }: { recent: RecentMessages; resolver: Resolver },
): Promise<(Job | undefined)[][]> {
  const jobs = chunks.map(({ ids }) => recent.take(ids)?.map(jobOf));
  const missing = chunks.filter((_, i) => jobs[i] === undefined);
  const loaded = missing.length > 0 ? await loadJobs(pool, missing, resolver) : [];
  return jobs.map((known) => known ?? loaded.shift() ?? []);
}

/** Makes the job of a message without its own content, which would have to be resolved. */
function jobOf(message: NewMessage): Job {
  const { id, destination, sender, body, wantReceipt, parts, channel, campaignId } = message;
  const { priceMicros, refundUndelivered, keepsReserve } = message;
  const job: Job = {
    messageId: id,
    destination,
    sender,
    body,
    validUntil: validUntilOf(message),
    wantReceipt,
    parts,
    priceMicros,
    refundUndelivered,
    channel,
    campaignId,
    keepsReserve,
  };
  return withOctets(job, message);
}

type Octets = Pick<NewMessage, 'udh' | 'binaryBody' | 'dataCoding' | 'tlvs'>;

/** Adds the user data header, the binary content and the parameters of a message, which most do not have. */
function withOctets(job: Job, { udh, binaryBody: data, dataCoding, tlvs }: Octets): Job {
  if (!udh && !data && !tlvs) return job;
  const passed = tlvs ? { ...job, tlvs } : job;
  if (data)
    return { ...passed, binary: { udh: udh ?? new Uint8Array(), data, ...(dataCoding !== null && { dataCoding }) } };
  return udh ? { ...passed, udh } : passed;
}

const NO_TEMPLATE: Outcome = {
  kind: 'refused',
  status: 'ERROR',
  code: 'TEMPLATE',
  text: 'the template or file no longer exists or may no longer be sent',
  carrierIds: [],
};

function resolved(resolver: Resolver, accountId: number, stored: StoredContent): Partial<Job> {
  const content = resolver.resolve(accountId, stored);
  if (content === null) return { refusal: NO_TEMPLATE };
  const file = resolver.fileOf?.(accountId, stored);
  return file ? { content, file } : { content };
}

type Loaded = {
  readonly n: number;
  readonly accountId: number;
  readonly content: StoredContent | null;
  readonly job: Job;
};

function readRow(
  messages: readonly Key[],
  [
    n,
    content,
    sender,
    destination,
    body,
    udh,
    binaryBody,
    parts,
    wantReceipt,
    validUntil,
    scheduledAt,
    priceMicros,
    refundUndelivered,
    channel,
    campaignId,
    keepsReserve,
    dataCoding,
    tlvs,
  ]: QueuedMessage,
): Loaded {
  const { accountId, id } = messages[n] as Key;
  const job: Job = {
    messageId: id,
    destination,
    sender,
    body,
    validUntil: validUntilOf({ id, validUntil, scheduledAt }),
    wantReceipt,
    parts,
    priceMicros,
    refundUndelivered,
    channel: channel ?? 'SMS',
    campaignId,
    keepsReserve: keepsReserve ?? false,
  };
  return { n, accountId, content, job: withOctets(job, { udh, binaryBody, dataCoding, tlvs }) };
}
