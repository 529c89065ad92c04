import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { endsWithin } from '../lib/background/ends-within.ts';
import { splitHosts } from '../lib/database-url.ts';
import type { Log } from '../lib/log.ts';
import { createPool } from './pool.ts';
import type { Db } from './query.ts';
import { countReplayed, findPosition } from './replication.ts';
import { tenant } from './tenant.ts';

/** The result of a read, and its maximum age: undefined if it came from the primary and is up to date. */
export type Report<T> = { readonly value: T; readonly ageMs: number | undefined };

/** Source of long reads that need not include the last second. */
export type Reports = {
  /**
   * Runs reads with the rights of one account: on a standby that is at most 10 seconds behind, otherwise on the
   * primary. Reads that fail on a standby, which may cancel a long one or lack a row, run once more on the primary.
   */
  read<T>(reader: { readonly accountId: number }, work: (db: Db) => Promise<T>): Promise<Report<T>>;
  close(): Promise<void>;
};

type ReportDeps = {
  readonly pool: Pool;
  /** The standbys, if there are any. */
  readonly standbysUrl?: string | undefined;
  readonly log: Log;
};

/** Reports read less often than the program sends: a few sessions are enough. */
const POOL_MAX = 4;
const MAX_AGE_MS = 10_000;
/** Time limit for a standby to report its position, in which it may also catch up. */
const ANSWER_MS = 1000;
const AGAIN_MS = 50;
/** Time for which a standby that failed or is behind is not asked again: each request would wait for it. */
const REST_MS = 10_000;
/** The position of the primary is queried at most once in this time, for all reads together. */
const SAMPLE_MS = 1000;

type Standby = { readonly pool: Pool; restsUntil: number };

/** Creates the reader of reports. Opens no connection before the first report. */
export function createReports({ pool, standbysUrl, log }: ReportDeps): Reports {
  const urls = standbysUrl === undefined ? [] : splitHosts(standbysUrl);
  const standbys = urls.map((url): Standby => {
    const options = { max: POOL_MAX, applicationName: 'heliograph reports', log };
    return { pool: createPool(url, options), restsUntil: 0 };
  });
  const positions = samplePositions(pool);
  let next = 0;

  /** Returns the available standbys, each in its turn first. */
  function candidates(): Standby[] {
    next = (next + 1) % Math.max(1, standbys.length);
    const now = performance.now();
    return [...standbys.slice(next), ...standbys.slice(0, next)].filter(({ restsUntil }) => restsUntil <= now);
  }

  /** Returns the maximum age of a standby's data; null if it does not respond in time or is far behind. */
  async function findAge(standby: Standby): Promise<number | null> {
    const known = await positions();
    const lsns = known.map(({ lsn }) => lsn);
    const deadline = performance.now() + ANSWER_MS;
    do {
      const { replayed } = await countReplayed(standby.pool, { lsns });
      const newest = known[replayed - 1];
      if (newest !== undefined) return performance.now() - newest.at;
      await delay(AGAIN_MS);
    } while (performance.now() < deadline);
    return null;
  }

  /** Returns the age of a standby that can be read; null for one that cannot, which then rests. */
  async function findUsableAge(standby: Standby): Promise<number | null> {
    let age: number | null = null;
    const asking = findAge(standby).then((found) => (age = found));
    const answered = await endsWithin(asking, ANSWER_MS).catch((err: unknown) => {
      log.warn({ err }, 'a standby cannot be read: reports are read from another server');
    });
    if (answered === true && age !== null && age <= MAX_AGE_MS) return age;
    standby.restsUntil = performance.now() + REST_MS;
    return null;
  }

  return {
    async read(reader, work) {
      for (const standby of candidates()) {
        const ageMs = await findUsableAge(standby);
        if (ageMs === null) continue;
        const report = await work(tenant(standby.pool, reader)).then(
          (value) => ({ value, ageMs }),
          () => null,
        );
        if (report !== null) return report;
      }
      return { value: await work(tenant(pool, reader)), ageMs: undefined };
    },
    close: async () => void (await Promise.all(standbys.map((standby) => standby.pool.end()))),
  };
}

type Position = { readonly at: number; readonly lsn: string };

/**
 * Returns a function that resolves with the positions of the primary within the last seconds, the oldest first: a
 * standby that has replayed one of them has everything that was committed before its time.
 */
function samplePositions(pool: Pool): () => Promise<readonly Position[]> {
  let known: readonly Position[] = [];
  let asking: Promise<readonly Position[]> | undefined;

  async function sample(): Promise<readonly Position[]> {
    const at = performance.now();
    const { lsn } = await findPosition(pool);
    known = [...known.filter((earlier) => at - earlier.at <= MAX_AGE_MS), { at, lsn }];
    return known;
  }

  return () => {
    const newest = known.at(-1);
    if (newest !== undefined && performance.now() - newest.at < SAMPLE_MS) return Promise.resolve(known);
    return (asking ??= sample().finally(() => {
      asking = undefined;
    }));
  };
}
