import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Backend } from './backend.ts';

/** Clock ticks of the kernel per second, in which /proc counts CPU time. */
const TICKS_PER_SECOND = 100;

/** Costs of a load for a gateway and its database, each per message. */
export type Costs = Readonly<
  Record<
    | 'gatewayCpuMicrosPerMessage'
    | 'postgresCpuMicrosPerMessage'
    | 'garbageKbPerMessage'
    | 'statementsPer1000Messages'
    | 'commitsPer1000Messages'
    | 'walBytesPerMessage',
    number
  >
>;

/**
 * Begins to count what a load costs, and returns a function that ends it. Counts the CPU time of all threads of the
 * gateway and of all processes of its PostgreSQL, what the gateway allocates on its heap, its statements, what
 * PostgreSQL writes to its log, and its commits (also those of the bench).
 */
export async function countCosts(backend: Backend): Promise<(messages: number) => Promise<Costs>> {
  const postmaster = Number(readFileSync(join(backend.dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
  const read = async () => ({
    gateway: backend.gateway.cpuSeconds(),
    postgres: treeCpuSeconds(postmaster),
    ...(await backend.gateway.work()),
    ...(await readCounters(backend)),
  });
  const before = await read();
  return async (messages) => {
    const after = await read();
    const per = (name: keyof typeof before, factor: number): number =>
      Math.round(((after[name] - before[name]) / messages) * factor * 10) / 10;
    return {
      gatewayCpuMicrosPerMessage: per('gateway', 1e6),
      postgresCpuMicrosPerMessage: per('postgres', 1e6),
      garbageKbPerMessage: per('allocatedBytes', 1e-3),
      statementsPer1000Messages: per('statements', 1000),
      commitsPer1000Messages: per('commits', 1000),
      walBytesPerMessage: per('wal', 1),
    };
  };
}

/** The CPU time of a load in the gateway and in PostgreSQL together, in µs per message. */
export const cpuMicrosOf = ({ gatewayCpuMicrosPerMessage, postgresCpuMicrosPerMessage }: Costs): number =>
  gatewayCpuMicrosPerMessage + postgresCpuMicrosPerMessage;

/** Runs `work` in this process and returns what it used per message of the CPU time of all its threads, in µs. */
export async function ownCpuMicros<T>(
  messages: number,
  work: () => Promise<T>,
): Promise<{ result: T; cpuMicros: number }> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { result, cpuMicros: Math.round(((user + system) / messages) * 10) / 10 };
}

/** The costs of one of several loads of a bench, with its name before each figure. */
export const costFigures = (name: string, costs: Costs): Record<string, number> =>
  Object.fromEntries(Object.entries(costs).map(([key, value]) => [`${name}.${key}`, value]));

/** The peak memory of the gateway since its start. */
export const memoryFigures = ({ gateway }: Backend): Record<string, number> => ({
  gatewayPeakMb: gateway.peakMb(),
  gatewayMemoryTargetMb: 400,
});

async function readCounters({ db }: Backend): Promise<{ wal: number; commits: number }> {
  const { rows } = await db.query<{ wal: string; commits: string }>(
    `SELECT pg_current_wal_lsn() - '0/0' AS wal, xact_commit AS commits
     FROM pg_stat_database WHERE datname = current_database()`,
  );
  return { wal: Number(rows[0]?.wal), commits: Number(rows[0]?.commits) };
}

/** The CPU time of a process, of its children, and of children that have ended. */
function treeCpuSeconds(root: number): number {
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const ticks = processes.map((pid) => {
    const [parent, used, ended] = ticksOf(pid);
    return Number(pid) === root ? used + ended : parent === root ? used : 0;
  });
  return ticks.reduce((sum, each) => sum + each, 0) / TICKS_PER_SECOND;
}

/** Fields 4, 14 + 15 and 16 + 17 of /proc/PID/stat (proc(5)); zeros for a process that has ended meanwhile. */
function ticksOf(pid: string): [parent: number, used: number, ended: number] {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').map(Number) ?? [];
    const [, parent = 0, , , , , , , , , , user = 0, system = 0, childUser = 0, childSystem = 0] = fields;
    return [parent, user + system, childUser + childSystem];
  } catch {
    return [0, 0, 0];
  }
}
