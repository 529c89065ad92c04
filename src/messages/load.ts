import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import type { Outcome } from '../channels/carrier.ts';
import { isRoutedBySender } from '../core/channels.ts';
import type { Db } from '../core/db/query.ts';
import { boundsOf, timeOfId } from '../core/ids.ts';
import type { Storage } from '../core/storage.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from '../core/time.ts';
import type { Job } from '../dispatch/held.ts';
import type { Chunk } from '../dispatch/store.ts';
import { toOwnFile } from '../media/media.ts';
import { listMedia, type MediaLinks, type MediaRow, mediaReference, resolveReferences } from '../media/store.ts';
import type { Costs } from '../routing/costs.ts';
import { listKnown } from '../routing/number-lookup-store.ts';
import type { RegisteredSender } from '../routing/registered-senders.ts';
import type { SenderRules } from '../routing/sender-rules.ts';
import { isInGroup } from '../smpp/text.ts';
import { type Resolver, type StoredContent, WHOLE_CONTENT_ONLY } from '../templates/content.ts';
import { revealText } from './codes.ts';
import type { NewMessage, RecentMessages } from './new-messages.ts';
import { listQueuedMessages, type QueuedMessage } from './store.ts';

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
export function jobOf(message: NewMessage): Job {
  const { id, destination, sender, body, code, wantReceipt, parts, channel, campaignId } = message;
  const { priceMicros, refundUndelivered, keepsReserve } = message;
  const job: Job = {
    messageId: id,
    destination,
    sender,
    body: code === undefined ? body : revealText(body, code),
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

/** Adds the user data header, the binary content, the class and the parameters of a message, which most do not have. */
function withOctets(job: Job, { udh, binaryBody: data, dataCoding, tlvs }: Octets): Job {
  if (!udh && !data && !tlvs && dataCoding === null) return job;
  const grouped = dataCoding !== null && !data && isInGroup(dataCoding) ? { ...job, dataCoding } : job;
  const passed = tlvs ? { ...grouped, tlvs } : grouped;
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

type Deps = {
  readonly pool: Pool;
  readonly storage: Storage;
  readonly links: MediaLinks;
  readonly clock: Clock;
};

/** A file of an account, and the link to it. */
type File = { readonly media: MediaRow; readonly url: string };

type Request = { readonly accountId: number; readonly content: StoredContent };

const MAX_FILES = 10_000;
/** A deleted file may still be sent for this long. */
const CACHE_MS = 5000;

const filesOf = (content: StoredContent): readonly number[] => ('files' in content && content.files) || [];
const keyOf = (accountId: number, id: number): string => `${accountId}/${id}`;

/**
 * Wraps a resolver so that contents get the links of the files that they name as each message goes to its carrier: a
 * link is valid for a day, and a message may wait longer. A content whose file no longer exists resolves to null.
 */
export function withMedia({ pool, storage, links, clock }: Deps, inner: Resolver): Resolver {
  /** Null: there is no such file. */
  const known = new LRUCache<string, { readonly file: File | null }>({ max: MAX_FILES, ttl: CACHE_MS });
  /** The files of the batch that is being loaded: they must not expire before it is resolved. */
  let latest = new Map<string, File | null>();

  async function read(accountId: number, ids: readonly number[]): Promise<void> {
    const missing = ids.filter((id) => !known.has(keyOf(accountId, id)));
    if (missing.length === 0) return;
    for (const id of missing) known.set(keyOf(accountId, id), { file: null });
    for (const media of await listMedia(pool, { accountId, ids: missing }))
      known.set(keyOf(accountId, media.id), { file: { media, url: links(media, clock.now()).url } });
  }

  async function load(requests: readonly Request[]): Promise<void> {
    await inner.load(requests);
    const named = requests.flatMap(({ accountId, content }) => filesOf(content).map((id) => ({ accountId, id })));
    for (const [accountId, files] of Map.groupBy(named, (file) => file.accountId))
      await read(accountId, [...new Set(files.map(({ id }) => id))]);
    const found = named.map(({ accountId, id }) => keyOf(accountId, id));
    latest = new Map(
      [...latest, ...found.map((key) => [key, known.get(key)?.file ?? null] as const)].slice(-MAX_FILES),
    );
  }

  return {
    load,
    resolve(accountId, content) {
      const files = filesOf(content);
      if (files.length === 0 || 'template' in content) return inner.resolve(accountId, content);
      const urls = new Map<string, string>();
      for (const id of files) {
        const file = latest.get(keyOf(accountId, id)) ?? null;
        if (file === null) return null;
        urls.set(mediaReference(id), file.url);
      }
      const { files: _, ...whole } = content;
      return inner.resolve(accountId, resolveReferences(whole, urls));
    },
    fileOf(accountId, content) {
      const [id, ...more] = filesOf(content);
      const file = id === undefined || more.length > 0 ? undefined : latest.get(keyOf(accountId, id));
      return file ? toOwnFile({ pool, storage }, file.media) : undefined;
    },
  };
}

type Registered = {
  readonly connectionId: number;
  readonly senderRules: Pick<SenderRules, 'usesRegistrations' | 'registeredOnlyBy' | 'registrationOver' | 'isPaced'>;
};

/**
 * Returns true if the sender of a message may have separate limits (`withRegistrations`). The messages of other senders
 * were tested when they were accepted.
 */
export const mayBePaced = ({ channel, sender }: Job, { senderRules }: Registered): boolean =>
  !isRoutedBySender(channel) && senderRules.isPaced(sender);

/**
 * Adds the limits of their registrations to the messages that go over a connection, and rejects those whose sender is not
 * registered for it, though it must be: a registration may end while a message waits. They go to the next connection of
 * their route, where they are tested again.
 */
export function withRegistrations(
  chunks: readonly Pick<Chunk, 'accountId'>[],
  jobs: Jobs,
  registered: Registered,
): Jobs {
  const { connectionId, senderRules } = registered;
  if (!senderRules.usesRegistrations()) return jobs;
  return chunks.map(({ accountId }, i) =>
    (jobs[i] ?? []).map((job) => {
      if (job === undefined || isRoutedBySender(job.channel)) return job;
      const use = { accountId, destination: job.destination, sender: job.sender };
      const registration = senderRules.registrationOver(use, connectionId);
      if (registration !== undefined) return withLimits(job, registration);
      const prefix = senderRules.registeredOnlyBy(use);
      return prefix === null ? job : { ...job, refusal: notRegistered(prefix) };
    }),
  );
}

function withLimits(job: Job, { id, tps, dailyCap }: RegisteredSender): Job {
  return tps === null && dailyCap === null ? job : { ...job, registration: { id, tps, dailyCap } };
}

const notRegistered = (prefix: string): Outcome => ({
  kind: 'refused',
  status: 'REJECTED',
  elsewhere: true,
  code: 'NO_REGISTERED_ROUTE',
  text: `the sender is not registered for this connection, as the rule for senders of prefix ${prefix} requires`,
  carrierIds: [],
});

/** The messages of each chunk. */
type Jobs = (Job | undefined)[][];
type Priced = { readonly connectionId: number; readonly costs: Pick<Costs, 'dependsOnNetwork'> };

/** Returns true if the cost of a message over this connection depends on the network of its number. */
export const dependsOnNetwork = ({ channel, destination }: Job, { connectionId, costs }: Priced): boolean =>
  !isRoutedBySender(channel) && costs.dependsOnNetwork(connectionId, destination);

/**
 * Adds the networks of their numbers to the messages of a connection whose cost depends on them, as far as known when
 * the messages are loaded. One statement for all of them, and none where no cost names a network.
 */
export async function withNetworks(db: Db, jobs: Jobs, priced: Priced): Promise<Jobs> {
  const depends = (job: Job | undefined): job is Job => job !== undefined && dependsOnNetwork(job, priced);
  const numbers = new Set(jobs.flatMap((own) => own.filter(depends).map(({ destination }) => destination)));
  if (numbers.size === 0) return jobs;
  const known = new Map(
    (await listKnown(db, { numbers: [...numbers] })).map(({ number, network }) => [number, network]),
  );
  return jobs.map((own) =>
    own.map((job) => {
      const network = depends(job) ? known.get(job.destination) : undefined;
      return job && network ? { ...job, network } : job;
    }),
  );
}

/**
 * Carriers keep a message for 24 to 72 hours by default; we request 48 hours, so that repeated attempts have an end.
 */
export const DEFAULT_VALIDITY_MS = 48 * HOUR_MS;

/** Receipts come late, but a client that sets a validity wants the result soon. */
const DEFAULT_GRACE_MS = 24 * HOUR_MS;
const CHOSEN_GRACE_MS = MINUTE_MS;

/** Time from acceptance until a message of the default validity is given up. */
export const GIVE_UP_AFTER_MS = DEFAULT_VALIDITY_MS + DEFAULT_GRACE_MS;

type Timed = { readonly id: string; readonly validUntil: Date | null; readonly scheduledAt: Date | null };

const after = (at: Date, ms: number): Date => new Date(at.getTime() + ms);

/** Returns the instant after which no carrier may deliver the message any more. */
export const validUntilOf = ({ id, validUntil, scheduledAt }: Timed): Date =>
  validUntil ?? after(scheduledAt ?? timeOfId(id), DEFAULT_VALIDITY_MS);

/**
 * The instant at which a message without a final state is given up. Null for the default validity, whose messages need
 * no separate deadline.
 */
export function deadlineOf({ validUntil, scheduledAt }: Timed): Date | null {
  if (validUntil !== null) return after(validUntil, CHOSEN_GRACE_MS);
  return scheduledAt === null ? null : after(scheduledAt, GIVE_UP_AFTER_MS);
}
