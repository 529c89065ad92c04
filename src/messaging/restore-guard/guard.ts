import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { Log } from '../../platform/lib/log.ts';
import { decideSending } from './decide.ts';
import { type FoundMark, readMark, writeMark } from './mark.ts';
import * as db from './sql.ts';

/** Keeps a worker from sending from a database that may be a restored backup or a copy. */
export type RestoreGuard = {
  /**
   * Returns true if sending is paused: then nothing may be written to a carrier, and no timer may change waiting
   * messages.
   */
  paused(): boolean;
  /** Pauses until the next check: the database was away, and the one that comes back may be a different one. */
  pauseUntilCheck(): void;
  /** Compares file and database, raises the generation and returns when to check again, in ms. One caller at a time. */
  check(): Promise<number>;
  /** Raises the generation once more, so that a backup from just before the end is recognized as one. */
  stop(): Promise<void>;
};

type RestoreGuardDeps = {
  readonly dataDir: string;
  readonly pool: Pool;
  /** The advisory lock key of this worker. */
  readonly owner: () => number;
  readonly log: Log;
};

const CHECK_INTERVAL_MS = 10_000;
const PAUSED_CHECK_INTERVAL_MS = 1000;
const MACHINE_RETENTION_DAYS = 90;

/**
 * Keeps a restored backup or a copy of a database from sending what the original has sent. DATA_DIR/fence.json and the
 * database hold the same generation, which rises while a worker runs. When they disagree and messages wait to be sent,
 * all workers on the database pause until the operator has decided (`fence confirm`, `fence discard`). Which cases are
 * recognized: docs/decisions/0008-restore-fence.md.
 *
 * Sending is paused until the first check.
 */
export function createRestoreGuard({ dataDir, pool, owner, log }: RestoreGuardDeps): RestoreGuard {
  let open = false;
  let asked = false;
  let doubts = 0;

  async function compare(): Promise<void> {
    const doubtsBefore = doubts;
    const mark = await readMark(dataDir);
    const facts = await db.findDatabaseFacts(pool, { machine: mark?.machine ?? null, owner: owner() });
    const verdict = decideSending(mark, facts, asked);
    if (verdict.kind === 'go' || verdict.kind === 'adopt') {
      await raiseGeneration(verdict.kind === 'go' ? mark : null, facts);
      return resume(doubts === doubtsBefore);
    }
    if (verdict.kind === 'ask') await db.moveToPaused(pool, verdict);
    await pause();
  }

  /**
   * Raises the generation in the database first: otherwise a crash in between would look like a restore. A file that
   * such a crash has left behind catches up before the next rise, so that it is never behind by two, however often that
   * happens.
   */
  async function raiseGeneration(
    mark: FoundMark | null,
    { database, state, generation: now }: db.DatabaseFacts,
  ): Promise<void> {
    const machine = mark?.machine ?? randomUUID();
    if (mark !== null && now !== null && now > mark.generation)
      await writeMark(dataDir, { machine, generation: now, database });
    const { generation } = await db.updateGeneration(pool, { machine, owner: owner() });
    await writeMark(dataDir, { machine, generation, database });
    if (state !== 'open') await db.moveToOpen(pool);
    if (mark === null) await db.deleteOldMachines(pool, { days: MACHINE_RETENTION_DAYS });
  }

  async function pause(): Promise<void> {
    open = false;
    if (asked) return;
    asked = true;
    const { reason } = await db.findGuardStatus(pool);
    log.error({ reason }, ADVICE);
  }

  /** Resumes sending, unless a doubt arose after the comparison began. */
  function resume(certain: boolean): void {
    open = certain;
    if (asked) log.warn({}, 'sending resumes: the operator has decided');
    asked = false;
  }

  const guard: RestoreGuard = {
    paused: () => !open,
    pauseUntilCheck() {
      doubts++;
      open = false;
    },
    check: () => inTurn(pool, compare).then(() => (open ? CHECK_INTERVAL_MS : PAUSED_CHECK_INTERVAL_MS)),
    async stop() {
      if (open)
        await guard.check().catch((err: unknown) => log.warn({ err }, 'cannot update the restore guard at the end'));
    },
  };
  return guard;
}

const ADVICE =
  'SENDING IS PAUSED: the database may be a restored backup or a copy, and what it has queued may have been sent. ' +
  'See `npm run heliograph -- fence show`, then decide: `fence confirm` sends it, `fence discard` does not.';

/**
 * Runs `work` for one worker on the database at a time, so that the file of a machine changes together with its row.
 */
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
