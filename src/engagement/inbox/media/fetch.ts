import type { Pool } from 'pg';
import { kindOf } from '../../../network/connections/kinds/kinds.ts';
import type { FetchedFile, FileSource } from '../../../network/connections/kinds/files.ts';
import { secretOf } from '../../../network/connections/save.ts';
import { listConnections } from '../../../network/connections/sql.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import type { Log } from '../../../platform/lib/log.ts';
import type { SecretKey } from '../../../platform/lib/secret-box.ts';
import { storeInbound } from '../../../media/store-inbound.ts';
import type { Storage } from '../../../platform/storage/storage.ts';
import { claimInboxes } from '../sql.ts';
import { publishInboxChanges } from '../publish.ts';
import { updateThreadMedia, type ThreadMedia } from '../thread/sql.ts';
import { claimInboxMedia, deleteInboxMedia, type DueMedia, updateInboxMediaDue } from './sql.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../platform/lib/time.ts';

export type FetchDeps = {
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly storage: Storage;
  readonly log: Log;
};

/** Number of files fetched in parallel; each may be in memory as a whole. */
const FILES_PER_RUN = 3;
/** People can send up to 100 MB on these networks; a larger file than this is not stored. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Lease, longer than any fetch and its storing take. */
const LEASE_SECONDS = 300;
/** The waits between tries. WhatsApp stores files for days: after about two days, a file is abandoned. */
const DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
];

/**
 * Fetches files of inbound messages from their networks and stores them. Threads show a file once it is stored, or that
 * it is not available.
 *
 * @returns the number of files that were due
 */
export async function fetchMedia(deps: FetchDeps): Promise<number> {
  const due = await claimInboxMedia(deps.pool, { limit: FILES_PER_RUN, leaseSeconds: LEASE_SECONDS });
  if (due.length === 0) return 0;
  const sources = await openSources(deps, due);
  try {
    await Promise.all(due.map((one) => fetchOne(deps, one, sources.get(one.connectionId))));
  } finally {
    await Promise.all([...sources.values()].map((source) => source.close()));
  }
  return due.length;
}

/** Opens the file sources of the connections from which these files came, with their current settings. */
async function openSources({ pool, secretKey }: FetchDeps, due: readonly DueMedia[]): Promise<Map<number, FileSource>> {
  const wanted = new Set(due.map((one) => one.connectionId));
  const connections = (await listConnections(pool)).filter(({ id }) => wanted.has(id));
  return new Map(
    connections.flatMap((connection) => {
      const source = kindOf(connection).createFileSource?.(connection.settings, secretOf(connection, secretKey));
      return source ? [[connection.id, source] as const] : [];
    }),
  );
}

const CONNECTION_GONE: FetchedFile = { ok: false, retry: false, reason: 'the connection was deleted' };

async function fetchOne(deps: FetchDeps, one: DueMedia, source: FileSource | undefined): Promise<void> {
  const fetched = source ? await source.fetch(one.media, MAX_BYTES) : CONNECTION_GONE;
  const stored = fetched.ok ? await store(deps, one, fetched.bytes) : null;
  if (stored) return endFetch(deps.pool, one, { ...describe(one), ...stored, state: 'STORED' });
  const delayMs = DELAYS_MS[one.tries - 1];
  const reason = fetched.ok ? 'the file is empty' : fetched.reason;
  deps.log.warn({ messageId: one.id, reason }, 'the file of an inbound message cannot be fetched');
  if (!fetched.ok && fetched.retry && delayMs !== undefined) await updateInboxMediaDue(deps.pool, { ...one, delayMs });
  else await endFetch(deps.pool, one, describe(one));
}

const describe = ({ media: { mimeType, fileName } }: DueMedia): ThreadMedia => ({
  state: 'FAILED',
  mediaId: null,
  mimeType,
  fileName,
});

async function store(deps: FetchDeps, { accountId, media }: DueMedia, bytes: Buffer) {
  const content = [bytes];
  const file = { accountId, maxBytes: MAX_BYTES, name: media.fileName ?? '' };
  const stored = await storeInbound(deps, { ...file, content: iterate(content) });
  return stored.ok ? { mediaId: stored.id, mimeType: stored.mimeType } : null;
}

async function* iterate(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

/** Ends a job, if it still exists: a file that was fetched twice is shown once. */
const endFetch = (pool: Pool, { accountId, id, chatId }: DueMedia, media: ThreadMedia): Promise<void> =>
  transaction(pool, async (tx) => {
    await claimInboxes(tx, { accountIds: [accountId] });
    if ((await deleteInboxMedia(tx, { accountId, id })) === 0) return;
    await updateThreadMedia(tx, { accountId, chatId, id, media });
    await publishInboxChanges(tx, { changed: [], events: [{ accountId, kind: 'message', chatId, messageId: id }] });
  });
