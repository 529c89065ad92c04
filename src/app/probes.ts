import type { Pool } from 'pg';
import { findGuardStatus } from '../messaging/restore-guard/sql.ts';
import { listConnectionStatus, STARTS_LATER } from '../network/connections/sql.ts';
import { sharesSessions } from '../platform/db/check-server.ts';
import { findWritability } from '../platform/db/replication.ts';
import type { Probe } from '../platform/http/health.ts';
import type { Member } from './member.ts';

/**
 * Interval of the check for a pooler that shares sessions, which takes two connections at a time; and the interval once
 * one is found.
 */
const ASK_MS = 15_000;
const SHARED_AGAIN_MS = 2000;

/** Creates the checks of /health/ready: the database, and the things that accepted messages may be waiting for. */
export const createProbes = (pool: Pool): Probe[] => [
  {
    name: 'database',
    critical: true,
    async check() {
      const found = await findWritability(pool).catch(() => null);
      // With several servers, those that accept no writes are not used: we only know that there is no primary.
      if (found === null) return { ok: false, detail: 'does not answer, or accepts no writes' };
      const { readOnly, waitingCommits } = found;
      if (readOnly) return { ok: false, detail: 'accepts no writes' };
      if (waitingCommits > 0)
        return { ok: false, detail: `${waitingCommits} commits have waited for a standby for 2 s or more` };
      return { ok: true, detail: 'accepts writes' };
    },
  },
  createSessionsProbe(pool),
  {
    // Not critical: messages are accepted, and wait for the operator's decision.
    name: 'sending',
    critical: false,
    async check() {
      const { state, reason } = await findGuardStatus(pool);
      return state === 'paused' ? { ok: false, detail: `paused: ${reason}` } : { ok: true, detail: 'not paused' };
    },
  },
  {
    // Not critical: messages are accepted, and wait while a carrier is unavailable.
    name: 'carriers',
    critical: false,
    async check() {
      const all = await listConnectionStatus(pool);
      const active = all.filter((connection) => connection.status === 'active');
      const later = all.filter(({ startsLater }) => startsLater).map(({ name }) => `; ${name} ${STARTS_LATER}`);
      const down = active.filter((connection) => !connection.up).map((connection) => connection.name);
      const ok = active.length > 0 && down.length === 0;
      if (ok) return { ok, detail: `${active.length} up${later.join('')}` };
      const fault = active.length === 0 ? 'no connection is configured' : `down: ${down.join(', ')}`;
      return { ok, detail: `${fault}${later.join('')}` };
    },
  },
];

/**
 * Creates the check that each connection still has its own session, since a pooler can be changed at any time. It
 * returns the last result and repeats the check in the background: it must not fail while the pool is busy.
 */
function createSessionsProbe(pool: Pool): Probe {
  let askedAt = performance.now();
  let isShared = false;

  async function ask(): Promise<void> {
    askedAt = performance.now();
    // A failing connection is reported by the check above.
    isShared = await sharesSessions(pool).catch(() => isShared);
  }

  return {
    name: 'sessions',
    critical: true,
    async check() {
      if (performance.now() - askedAt >= (isShared ? SHARED_AGAIN_MS : ASK_MS)) void ask();
      return isShared
        ? { ok: false, detail: 'a pooler shares them: set its pool_mode to session' }
        : { ok: true, detail: 'one for each connection' };
    },
  };
}

/** Creates the check of a program of several processes: all of them must run. One that ended is started again. */
export const createPeersProbe = ({ peers }: Pick<Member, 'peers'>): Probe => ({
  name: 'processes',
  // Not critical: the others serve requests.
  critical: false,
  async check() {
    const { running, wanted } = peers();
    return { ok: running === wanted, detail: `${running} of ${wanted} run` };
  },
});
