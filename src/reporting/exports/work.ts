import { transaction } from '../../platform/db/transaction.ts';
import { type MakeDeps, makeExport } from './make.ts';
import * as db from './sql.ts';

export type Exporter = {
  /**
   * Begins exports that wait, as far as there is room, and answers when to come again, in ms: soon while there are jobs,
   * since one may have a later time or a worker that dies. For one caller at a time.
   */
  work(): Promise<number>;
  /** Leaves what is under way to other workers, who begin it anew. */
  stop(): Promise<void>;
};

/** Each has a session of the database and, for a workbook, a thread. Of one account never more than one. */
const AT_ONCE = 2;
/** After so many failures in a row an export is given up; the waits between them, each twice the last, add up to 4 minutes. */
const MOST_FAILURES = 7;
const RETRY_MS = 2000;
const BUSY_MS = 1000;
const IDLE_MS = 10_000;

type Deps = MakeDeps & {
  /** One has ended: there is room for another. */
  readonly onEnd: () => void;
};

/**
 * Makes the files that people asked for. Any number of workers do so. An export belongs to the worker whose advisory lock
 * its job names, so that of a dead one is free at once.
 */
export function createExporter(deps: Deps): Exporter {
  const { pool, owner, onEnd } = deps;
  const abort = new AbortController();
  /** By account. */
  const running = new Map<number, Promise<void>>();

  async function run(job: db.ClaimedJob): Promise<void> {
    try {
      await makeExport(deps, job, abort.signal);
    } catch (err) {
      await (abort.signal.aborted ? db.moveJob(pool, { ...job, owner, delayMs: 0 }) : handleFailure(deps, job, err));
    }
  }

  function begin(job: db.ClaimedJob): void {
    const { accountId, exportId } = job;
    const work = run(job)
      // With the database away: the job is this worker's still, which claims it again.
      .catch((err: unknown) =>
        deps.log.error({ err, state: `export ${exportId}` }, 'an export could not be given back'),
      )
      .finally(() => {
        running.delete(accountId);
        onEnd();
      });
    running.set(accountId, work);
  }

  return {
    async work() {
      while (running.size < AT_ONCE && !abort.signal.aborted) {
        const job = await db.claimJob(pool, { owner, busyAccounts: [...running.keys()] });
        if (!job) break;
        begin(job);
      }
      return (await db.hasJobs(pool)) ? BUSY_MS : IDLE_MS;
    },
    async stop() {
      abort.abort();
      await Promise.all(running.values());
    },
  };
}

/** Tried again, and given up after some time. */
async function handleFailure({ pool, owner, log }: MakeDeps, job: db.ClaimedJob, err: unknown): Promise<void> {
  const { accountId, exportId } = job;
  log.error({ err, state: `export ${exportId}` }, 'an export failed');
  const failures = job.failures + 1;
  if (failures <= MOST_FAILURES) {
    await db.moveJob(pool, { exportId, owner, failures, delayMs: RETRY_MS * 2 ** job.failures });
    return;
  }
  await transaction(pool, async (tx) => {
    if ((await db.deleteOwnJob(tx, { exportId, owner })) === 0) return;
    await db.moveToFailed(tx, { accountId, id: exportId, failure: 'Internal error: the file could not be made' });
  });
}
