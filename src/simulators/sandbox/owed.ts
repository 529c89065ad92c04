import type { Db } from '../../platform/db/query.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { listOpenSubmits, type OpenSubmit } from '../../messaging/receipts/submits/sql.ts';

/** Older messages get no receipt: carriers keep a message for 48 hours by default. */
const MAX_OWED_AGE_MS = 48 * 3_600_000;
const MAX_OWED = 10_000;

/**
 * Lists the messages for which the sandbox still owes receipts. Real carriers outlive their clients, but the sandbox
 * ended with the program, and so did the receipts that it had scheduled.
 */
export const listOwed = (db: Db, connectionId: number): Promise<OpenSubmit[]> =>
  listOpenSubmits(db, { connectionId, firstId: firstIdAt(new Date(Date.now() - MAX_OWED_AGE_MS)), limit: MAX_OWED });
