import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './processes.ts';
import type { Report } from './report.ts';

const SECONDS = 20;
const TICKS_PER_SECOND = 100;

/** What the gateway takes of a core while nothing happens, sandbox carrier included. */
export async function benchIdle(): Promise<Report> {
  const dataDir = await mkdtemp(join(tmpdir(), 'heliograph-bench-'));
  const gateway = await runCommand(['serve'], { DATA_DIR: dataDir, PORT: '0' });
  try {
    await pause(5);
    const before = await cpuSeconds(gateway.pid);
    await pause(SECONDS);
    const share = ((await cpuSeconds(gateway.pid)) - before) / SECONDS;
    return { name: 'idle', ratio: 0.01 / Math.max(share, 1e-6), target: 1, figures: { percentOfACore: share * 100 } };
  } finally {
    await gateway.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
