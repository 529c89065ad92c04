import { setTimeout as delay } from 'node:timers/promises';
import { openSnapshot, type Snapshot } from '../../platform/db/snapshot.ts';
import { splitHosts } from '../../platform/lib/database-url.ts';
import type { Log } from '../../platform/lib/log.ts';
import { type ExportRow, findExport } from './sql.ts';

export type SourceDeps = {
  readonly connectionString: string;
  /** The standbys, if there are any. */
  readonly standbysUrl?: string | undefined;
  readonly log: Log;
};

/** A standby is behind by milliseconds, or by much more than this. */
const MAX_WAIT_MS = 2000;
const AGAIN_MS = 50;

/**
 * Opens the snapshot that an export is made from: of a standby that has received the request, so that the file is never
 * older than the request; otherwise of the primary. A standby may cancel a long read, so that after a failed attempt
 * (`failures`) only the primary is used.
 */
export async function openSource(deps: SourceDeps, row: ExportRow, failures: number): Promise<Snapshot> {
  const { accountId } = row;
  const standbys = failures === 0 && deps.standbysUrl !== undefined ? splitHosts(deps.standbysUrl) : [];
  for (const url of standbys) {
    const snapshot = await openStandby(url, row).catch((err: unknown) => {
      deps.log.warn({ err }, 'a standby cannot be read: the export is read from another server');
      return null;
    });
    if (snapshot !== null) return snapshot;
  }
  return openSnapshot(deps.connectionString, { accountId });
}

/** Resolves with null when the standby has not received the request in time. */
async function openStandby(url: string, { accountId, id, version }: ExportRow): Promise<Snapshot | null> {
  const deadline = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const snapshot = await openSnapshot(url, { accountId });
    try {
      const seen = await findExport(snapshot.db, { accountId, id });
      if (seen?.version === version && seen.status === 'PENDING') return snapshot;
    } catch (error) {
      await snapshot.close();
      throw error;
    }
    await snapshot.close();
    if (performance.now() > deadline) return null;
    await delay(AGAIN_MS);
  }
}
