import type { Pool } from 'pg';
import type { InboundMedia } from '../channels/carrier.ts';
import { maybeOne, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { type Job, job } from '../core/jobs.ts';
import type { Log } from '../core/log.ts';
import type { SecretKey } from '../core/secrets.ts';
import type { Storage } from '../core/storage.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';
import { addInbound, type ReceivedFile, storeInbound } from '../media/media.ts';
import { listConnections } from '../routing/connection-store.ts';
import { secretOf } from '../routing/connections.ts';
import type { FetchedFile } from '../routing/kind.ts';
import { kindOf } from '../routing/kinds.ts';
import { publishInboxChanges } from './conversations.ts';
import { claimInboxes, type ThreadMedia, updateThreadMedia } from './store.ts';

export type FetchDeps = {
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly storage: Storage;
  readonly log: Log;
};

/** People can send up to 100 MB on these networks; a larger file than this is not stored. */
export const MAX_BYTES = 32 * 1024 * 1024;
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

type PendingFile = { readonly id: string; readonly chatId: string; readonly media: InboundMedia };

/**
 * Files of inbound messages that are still at their networks. Threads show a file once it is stored, or that it is not
 * available. Each of the few at a time may be in memory as a whole.
 */
export const inboxMedia = job<PendingFile, FetchDeps>('inbox.media', { concurrency: 3 }, async (deps, one) => {
  const { accountId, payload, tries } = one;
  const fetched = await fetchFile(deps, one);
  const stored = fetched.ok ? await store(deps, one, fetched.bytes) : null;
  if (stored) return endFetch(deps.pool, one, stored);
  const reason = fetched.ok ? 'the file is empty' : fetched.reason;
  deps.log.warn({ accountId, messageId: payload.id, reason }, 'the file of an inbound message cannot be fetched');
  const inMs = DELAYS_MS[tries - 1];
  if (!fetched.ok && fetched.retry && inMs !== undefined) return { kind: 'retry', inMs };
  return endFetch(deps.pool, one, null);
});

/** Fetches a file with the current settings of the connection that it came over. */
async function fetchFile(
  { pool, secretKey }: FetchDeps,
  { accountId, payload }: Job<PendingFile>,
): Promise<FetchedFile> {
  const connection = await findConnectionOf(pool, { accountId, id: payload.id });
  const source =
    connection && kindOf(connection).createFileSource?.(connection.settings, secretOf(connection, secretKey));
  if (!source) return { ok: false, retry: false, reason: 'the connection was deleted' };
  try {
    return await source.fetch(payload.media, MAX_BYTES);
  } finally {
    await source.close();
  }
}

/** Finds the connection over which a message came: another one than then, if its account has moved. */
async function findConnectionOf(pool: Pool, { accountId, id }: { accountId: number; id: string }) {
  const message = await maybeOne<{ connectionId: number }>(
    pool,
    sql`SELECT connection_id AS "connectionId" FROM inbound_message WHERE account_id = ${accountId} AND id = ${id}`,
  );
  return (await listConnections(pool)).find((connection) => connection.id === message?.connectionId);
}

/** Writes the file into the store; its row follows with the end of the job. Null: it is empty. */
async function store(deps: FetchDeps, { accountId }: Job<PendingFile>, bytes: Buffer): Promise<ReceivedFile | null> {
  const stored = await storeInbound(deps, { accountId, maxBytes: MAX_BYTES, content: iterate([bytes]) });
  return stored.ok ? stored : null;
}

async function* iterate(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

/**
 * Ends a job with its file; null: it is not available. If the message was erased or revoked meanwhile, or another worker
 * has the job, nothing is recorded, and the file is removed as one without a row.
 */
const endFetch = (
  pool: Pool,
  { accountId, payload, end }: Job<PendingFile>,
  file: ReceivedFile | null,
): Promise<void> =>
  transaction(pool, async (tx) => {
    const { id, chatId } = payload;
    const { mimeType, fileName } = payload.media;
    await claimInboxes(tx, { accountIds: [accountId] });
    if (!(await end(tx))) return;
    const media: ThreadMedia = file
      ? {
          state: 'STORED',
          mediaId: (await addInbound(tx, { accountId, mediaKey: id, name: fileName ?? '', file })).id,
          mimeType: file.mimeType,
          fileName,
        }
      : { state: 'FAILED', mediaId: null, mimeType, fileName };
    await updateThreadMedia(tx, { accountId, id, media });
    await publishInboxChanges(tx, { changed: [], events: [{ accountId, kind: 'message', chatId, messageId: id }] });
  });
