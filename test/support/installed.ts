import { spawnSync } from 'node:child_process';

/** Returns true if this machine has a program of that name in its path. */
export const isInstalled = (program: string): boolean =>
  spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).status === 0;
