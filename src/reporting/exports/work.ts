import { transaction } from '../../platform/db/transaction.ts';
import { type MakeDeps, makeExport } from './make.ts';
import * as db from './sql.ts';

export type Exporter = {
  /**
   * Starts waiting exports while there is capacity, and returns the ms until it must run again: soon while there are
   * jobs, since one may become due or its worker may die. One caller at a time.
   */
  work(): Promise<number>;
  /** Aborts the exports in progress; other workers make them from the beginning. */
  stop(): Promise<void>;
};

/**
 * Each export takes a database session and, for a workbook, a thread. One account never has more than one at a time.
 */
const MAX_CONCURRENCY = 2;
/** The waits between the attempts, each twice the last, add up to 4 minutes. Then the export fails. */
const MAX_RETRIES = 7;
const RETRY_MS = 2000;
const BUSY_MS = 1000;
const IDLE_MS = 10_000;
/** Number of accounts that are remembered, to give others their turn first. */
const MAX_SERVED = 1000;

type Deps = MakeDeps & {
  /** Called when an export has ended, so that there is capacity for another. */
  readonly onEnd: () => void;
};

/**
 * Creates the part of a worker that makes exports. Any number of workers may run it. A job names the advisory lock of
 * its worker, so the exports of a dead worker are free immediately.
 */
export function createExporter(deps: Deps): Exporter {
  const { pool, owner, onEnd } = deps;
  const abort = new AbortController();
  const runningByAccount = new Map<number, Promise<void>>();
  const served = new Set<number>();

  async function run(job: db.ClaimedJob): Promise<void> {
    try {
      await makeExport(deps, job, abort.signal);
    } catch (err) {
      await (abort.signal.aborted ? db.updateJob(pool, { ...job, owner, delayMs: 0 }) : handleFailure(deps, job, err));
    }
  }

  function start(job: db.ClaimedJob): void {
    const { accountId, exportId } = job;
    noteTurn(served, accountId);
    const work = run(job)
      // The database is unavailable. The job still belongs to this worker, which claims it again.
      .catch((err: unknown) =>
        deps.log.error({ err, state: `export ${exportId}` }, 'an export could not be returned to the queue'),
      )
      .finally(() => {
        runningByAccount.delete(accountId);
        onEnd();
      });
    runningByAccount.set(accountId, work);
  }

  return {
    async work() {
      while (runningByAccount.size < MAX_CONCURRENCY && !abort.signal.aborted) {
        const busyAccounts = [...runningByAccount.keys()];
        const job = await db.claimJob(pool, { owner, busyAccounts, servedAccounts: [...served] });
        if (!job) break;
        start(job);
      }
      return (await db.hasJobs(pool)) ? BUSY_MS : IDLE_MS;
    },
    async stop() {
      abort.abort();
      await Promise.all(runningByAccount.values());
    },
  };
}

/** Moves the account to the end of those that have had a turn. */
function noteTurn(served: Set<number>, accountId: number): void {
  served.delete(accountId);
  served.add(accountId);
  const [oldest] = served;
  if (served.size > MAX_SERVED && oldest !== undefined) served.delete(oldest);
}

/** Schedules another attempt, or marks the export as failed after the last one. */
async function handleFailure({ pool, owner, log }: MakeDeps, job: db.ClaimedJob, err: unknown): Promise<void> {
  const { accountId, exportId } = job;
  log.error({ err, state: `export ${exportId}` }, 'an export failed');
  const failures = job.failures + 1;
  if (failures <= MAX_RETRIES) {
    await db.updateJob(pool, { exportId, owner, failures, delayMs: RETRY_MS * 2 ** job.failures });
    return;
  }
  await transaction(pool, async (tx) => {
    if ((await db.deleteOwnJob(tx, { exportId, owner })) === 0) return;
    await db.moveToFailed(tx, { accountId, id: exportId, failure: 'Internal error: the file could not be created' });
  });
}
