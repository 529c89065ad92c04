import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

type Ready = { readonly address: string | null };

/** A command of the program that runs until it is stopped, in a separate process. */
export type ServeProcess = {
  /** Resolves with what it prints once it runs; null when it ends before. */
  readonly ready: Promise<Ready | null>;
  readonly pid: number;
  /** Resolves when it has ended, with its exit code and how long that took since the first signal. */
  readonly ended: Promise<{ readonly code: number | null; readonly ms: number }>;
  signal(name: NodeJS.Signals): void;
  /** Returns its output on stderr so far. */
  errors(): string;
  /** Kills it, if it still runs. */
  [Symbol.dispose](): void;
};

/**
 * Starts `serve`, `api` or `worker` with this environment and nothing else.
 *
 * @param main the file that is started; that of another release runs that release
 */
export function startServeProcess(
  command: 'serve' | 'api' | 'worker',
  environment: Readonly<Record<string, string>>,
  main = MAIN,
): ServeProcess {
  const child: ChildProcess = spawn(process.execPath, [main, '--json', command], {
    env: { LOG_LEVEL: 'warn', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  let signalledAt: number | undefined;
  child.stderr?.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  return {
    ready: firstLine(child),
    pid: child.pid ?? 0,
    ended: once(child, 'exit').then(([code]) => ({ code, ms: performance.now() - (signalledAt ?? 0) })),
    signal(name) {
      signalledAt ??= performance.now();
      child.kill(name);
    },
    errors: () => errors,
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}

async function firstLine({ stdout }: ChildProcess): Promise<Ready | null> {
  if (stdout) for await (const line of createInterface(stdout)) return JSON.parse(line);
  return null;
}
