import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Log } from '../../platform/lib/log.ts';
import { decideSending } from './decide.ts';
import { type FoundMark, readMark, writeMark } from './mark.ts';
import * as db from './sql.ts';

export type RestoreGuard = {
  /** Nothing may be written to a carrier, and no timer may change what waits. */
  paused(): boolean;
  /** Pauses until the next look: the database was away, and what comes back may be another one. */
  doubt(): void;
  /** Looks, moves on, and answers when to look again, in ms. For one caller at a time. */
  check(): Promise<number>;
  /** Moves on once more, so that a backup taken just before the end is known for one. */
  stop(): Promise<void>;
};

type RestoreGuardDeps = {
  readonly dataDir: string;
  readonly pool: Pool;
  /** The advisory lock key of this worker. */
  readonly owner: () => number;
  readonly log: Log;
};

const MOVE_MS = 10_000;
const LOOK_MS = 1000;
const FORGET_DAYS = 90;

/**
 * Keeps a restored backup or a copy of a database from sending what the original has sent. DATA_DIR/fence.json and the
 * database hold the same generation, which moves on while a worker runs; where they disagree and something waits to be
 * sent, all workers on the database pause until a person has decided (`fence confirm`, `fence discard`). What is
 * recognised and what not: docs/decisions/0008-restore-fence.md.
 *
 * Paused until its first look.
 */
export function createRestoreGuard({ dataDir, pool, owner, log }: RestoreGuardDeps): RestoreGuard {
  let open = false;
  let asked = false;
  let doubts = 0;

  async function look(): Promise<void> {
    const doubtsBefore = doubts;
    const mark = await readMark(dataDir);
    const standing = await db.findDatabaseFacts(pool, { machine: mark?.machine ?? null, owner: owner() });
    const verdict = decideSending(mark, standing, asked);
    if (verdict.kind === 'go' || verdict.kind === 'adopt') {
      await moveOn(verdict.kind === 'go' ? mark : null, standing);
      return resume(doubts === doubtsBefore);
    }
    if (verdict.kind === 'ask') await db.moveToPaused(pool, verdict);
    await pause();
  }

  /**
   * The database first: the other way round, a crash in between would look like a restore. A file that such a crash has
   * left behind catches up before the next move, so that it is never two behind, however often it happens.
   */
  async function moveOn(mark: FoundMark | null, { database, state, generation: now }: db.DatabaseFacts): Promise<void> {
    const machine = mark?.machine ?? randomUUID();
    if (mark !== null && now !== null && now > mark.generation)
      await writeMark(dataDir, { machine, generation: now, database });
    const { generation } = await db.updateGeneration(pool, { machine, owner: owner() });
    await writeMark(dataDir, { machine, generation, database });
    if (state !== 'open') await db.moveToOpen(pool);
    if (mark === null) await db.deleteOldMachines(pool, { days: FORGET_DAYS });
  }

  async function pause(): Promise<void> {
    open = false;
    if (asked) return;
    asked = true;
    const { reason } = await db.findGuardStatus(pool);
    log.error({ reason }, ADVICE);
  }

  /** What was seen before a doubt does not settle it. */
  function resume(certain: boolean): void {
    open = certain;
    if (asked) log.warn({}, 'sending goes on: a person has decided');
    asked = false;
  }

  const fence: RestoreGuard = {
    paused: () => !open,
    doubt() {
      doubts++;
      open = false;
    },
    check: () => inTurn(pool, look).then(() => (open ? MOVE_MS : LOOK_MS)),
    async stop() {
      if (open) await fence.check().catch((err: unknown) => log.warn({ err }, 'the fence is not moved on at the end'));
    },
  };
  return fence;
}

const ADVICE =
  'SENDING IS PAUSED: the database may be a restored backup or a copy, and what it has queued may have been sent. ' +
  'See `npm run heliograph -- fence show`, then decide: `fence confirm` sends it, `fence discard` does not.';

/** One at a time, of all workers on the database: the file of a machine moves in step with its row. */
async function inTurn(pool: Pool, work: () => Promise<void>): Promise<void> {
  const session = await pool.connect();
  let broken: Error | boolean = true;
  try {
    await db.claimGuardTurn(session);
    await work();
    await db.releaseGuardTurn(session);
    broken = false;
  } finally {
    session.release(broken);
  }
}
