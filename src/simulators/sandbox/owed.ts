import type { Db } from '../../platform/db/query.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { listOpenSubmits, type OpenSubmit } from '../../messaging/receipts/submits/sql.ts';

/** What is older has no receipt to come: carriers keep a message 48 hours when nothing is said. */
const OWED_MS = 48 * 3_600_000;
const MAX_OWED = 10_000;

/** A carrier outlives its clients; the sandbox's died with the program, and with it the receipts that it had planned. */
export const listOwed = (db: Db, connectionId: number): Promise<OpenSubmit[]> =>
  listOpenSubmits(db, { connectionId, firstId: firstIdAt(new Date(Date.now() - OWED_MS)), limit: MAX_OWED });
