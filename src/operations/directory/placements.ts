import type { Pool } from 'pg';
import { cellOfId } from '../../platform/db/cell.ts';
import { openWorkerSession } from '../../platform/db/worker-session.ts';
import { startLoop } from '../../platform/lib/background/loop.ts';
import type { Log } from '../../platform/lib/log.ts';
import { MINUTE_MS } from '../../platform/lib/time.ts';
import { type AccountCell, DIRECTORY_CHANNEL, listAccountCells } from './sql.ts';

/** Which cell each account belongs to, in memory. */
export type Placements = {
  /**
   * Returns the cell of an account. While the account moves, the answer waits for the end of the move, and is null after
   * ten seconds. A move of more than two minutes holds nothing: the cell that the account leaves refuses by itself.
   */
  find(accountId: number): Promise<number | null>;
  close(): Promise<void>;
};

/** How long the requests of an account wait while it moves. */
const HOLD_MS = 10_000;
/**
 * Longer than an account is without service when its move fails: a hold that nobody could end, because the database was
 * away at that moment, must not last.
 */
const MAX_HOLD_MS = 2 * MINUTE_MS;
/** Notifications announce changes at once; this interval is for missed ones. */
const RELOAD_MS = 10_000;

/** Loads the accounts that have moved or are moving, and follows their changes; also after a lost connection. */
export async function followPlacements(options: {
  readonly pool: Pool;
  readonly connectionString: string;
  readonly log: Log;
}): Promise<Placements> {
  const { pool, connectionString, log } = options;
  let placed: ReadonlyMap<number, AccountCell> = new Map();
  let changed = Promise.withResolvers<void>();

  async function reload(): Promise<void> {
    placed = new Map((await listAccountCells(pool)).map((row) => [row.accountId, row]));
    changed.resolve();
    changed = Promise.withResolvers();
  }

  // Listening comes first, so that no change falls between the two.
  let wake = (): void => undefined;
  const channels = [DIRECTORY_CHANNEL];
  const session = await openWorkerSession({ connectionString, channels, onNotify: () => wake(), log });
  await reload();
  const loop = startLoop('moved accounts', () => reload().then(() => RELOAD_MS), log);
  wake = loop.wake;

  async function untilPlaced(accountId: number): Promise<number | null> {
    let isLate = false;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      isLate = true;
      late.resolve();
    }, HOLD_MS);
    while (isHeld(placed.get(accountId)) && !isLate) await Promise.race([changed.promise, late.promise]);
    clearTimeout(timer);
    return isLate ? null : (placed.get(accountId)?.cell ?? cellOfId(accountId));
  }

  return {
    async find(accountId) {
      const row = placed.get(accountId);
      return isHeld(row) ? untilPlaced(accountId) : (row?.cell ?? cellOfId(accountId));
    },
    async close() {
      await loop.stop();
      await session.close();
    },
  };
}

const isHeld = (row: AccountCell | undefined): boolean =>
  row !== undefined && row.movingSince !== null && Date.now() - row.movingSince.getTime() < MAX_HOLD_MS;
