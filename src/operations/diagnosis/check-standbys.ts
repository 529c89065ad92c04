import type { Pool } from 'pg';
import { createPool } from '../../platform/db/pool.ts';
import {
  findReplayLag,
  findSynchronousNames,
  findWritability,
  listStandbys,
  type Standby,
} from '../../platform/db/replication.ts';
import { explainDatabaseError } from '../../platform/db/startup-error.ts';
import { splitHosts } from '../../platform/lib/database-url.ts';
import { silentLog } from '../../platform/lib/log.ts';
import type { Finding } from './finding.ts';

const MAX_LAG_SECONDS = 10;
/**
 * Minimum of synchronous standbys: with one, sending stops when it is away; with two of which any one suffices, it goes
 * on.
 */
const MIN_SYNCHRONOUS = 2;

/**
 * Checks that the database survives the loss of its server: two synchronous standbys, close behind, and no commit that waits
 * for one. They are wanted when DATABASE_URL names several hosts, or when the server has standbys or waits for some.
 */
export async function checkStandbys(pool: Pool, databaseUrl: string | undefined): Promise<Finding> {
  const standbys = await listStandbys(pool);
  const { names } = await findSynchronousNames(pool);
  const { waitingCommits } = await findWritability(pool);
  const isWanted = splitHosts(databaseUrl ?? '').length > 1 || standbys.length > 0 || names !== '';
  if (!isWanted) return { name: 'standbys', ok: true, detail: 'none' };
  const problem = problemOf(standbys, waitingCommits);
  if (problem !== undefined) return { name: 'standbys', ok: false, ...problem };
  return { name: 'standbys', ok: true, detail: standbys.map(describeStandby).join(', ') };
}

type Problem = { readonly detail: string; readonly advice: string };

function problemOf(standbys: readonly Standby[], waitingCommits: number): Problem | undefined {
  if (waitingCommits > 0)
    return {
      detail: `${waitingCommits} commits have waited for a standby for 2 s or more`,
      advice: 'Start a standby again: responses, and messages, are sent only after one has confirmed.',
    };
  if (standbys.some(({ synchronous }) => synchronous === null))
    return {
      detail: `${standbys.length} standbys are connected, but this user lacks the right to see their synchronous state`,
      advice: 'Run as a superuser: GRANT pg_monitor TO the user of DATABASE_URL.',
    };
  const synchronous = standbys.filter((standby) => standby.synchronous);
  if (synchronous.length < MIN_SYNCHRONOUS)
    return {
      detail: `${synchronous.length} of ${standbys.length} connected standbys are synchronous`,
      advice:
        "Run two, with synchronous_standby_names = 'ANY 1 (…)': without one, a failover loses accepted messages; with " +
        'only one, sending stops when it is away.',
    };
  const late = standbys.filter(({ lagSeconds }) => lagSeconds > MAX_LAG_SECONDS);
  if (late.length === 0) return undefined;
  return {
    detail: late.map(describeStandby).join(', '),
    advice: 'A standby that is far behind takes long to be promoted: see its disk, its network and long reads on it.',
  };
}

const describeStandby = ({ name, synchronous, lagSeconds }: Standby): string =>
  `${name} ${synchronous ? 'synchronous' : 'asynchronous'}, ${lagSeconds.toFixed(1)} s behind`;

/** Checks that each server of DATABASE_URL_READ can be read, is a standby, and is close behind. None without that setting. */
export const checkReadStandbys = (standbysUrl: string | undefined): Promise<Finding[]> =>
  Promise.all((standbysUrl === undefined ? [] : splitHosts(standbysUrl)).map(checkReadStandby));

async function checkReadStandby(url: string): Promise<Finding> {
  const name = `reads from ${new URL(url).host}` as const;
  try {
    const pool = createPool(url, { max: 1, applicationName: 'heliograph doctor', log: silentLog });
    const { isStandby, lagSeconds } = await findReplayLag(pool).finally(() => void pool.end());
    return {
      name,
      ok: isStandby && lagSeconds <= MAX_LAG_SECONDS,
      detail: isStandby ? `${lagSeconds.toFixed(1)} s behind` : 'it is not a standby',
      advice:
        'Reports are read from the primary meanwhile: correct DATABASE_URL_READ, or see why the standby is behind.',
    };
  } catch (error) {
    const reason = explainDatabaseError(error, 'DATABASE_URL_READ');
    const detail = reason instanceof Error ? reason.message : String(reason);
    return { name, ok: false, detail, advice: 'Reports are read from the primary meanwhile.' };
  }
}
