import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TestProgram } from './program.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** A `worker` in a separate process, on the database of a test program. */
export type WorkerProcess = {
  /** Sends SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Sends SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
};

export function startWorkerProcess({ environment }: Pick<TestProgram, 'environment'>): WorkerProcess {
  const child = spawn(process.execPath, [MAIN, 'worker'], { env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
  const exited = once(child, 'exit');
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return {
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  };
}
