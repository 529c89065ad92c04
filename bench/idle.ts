import { removeDataDir } from '../test/support/data-dir.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { runCommand } from './lib/processes.ts';
import type { Report } from './lib/report.ts';

const SECONDS = 20;

/** The share of a core that the gateway uses while nothing happens, sandbox carrier included. */
export async function benchIdle(): Promise<Report> {
  const dataDir = await temporaryFolder('heliograph-bench-');
  const gateway = await runCommand(['serve'], { DATA_DIR: dataDir, PORT: '0' });
  try {
    await pause(5);
    const before = gateway.cpuSeconds();
    await pause(SECONDS);
    const share = (gateway.cpuSeconds() - before) / SECONDS;
    return { name: 'idle', ratio: 0.01 / Math.max(share, 1e-6), target: 1, figures: { percentOfCore: share * 100 } };
  } finally {
    await gateway.stop();
    await removeDataDir(dataDir);
  }
}

const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
