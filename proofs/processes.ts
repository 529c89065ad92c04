import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Run } from './proof.ts';

/** A process of ours that said, with one line of JSON, that it is ready. */
export type Process = {
  readonly pid: number;
  readonly ready: Readonly<Record<string, unknown>>;
  running(): boolean;
  /** The next line that it prints, parsed. Rejects when it ends first. */
  answer(): Promise<Record<string, unknown>>;
  tell(line: object): void;
  /** SIGKILL: no goodbye. Resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code, null when a signal ended it. */
  stop(): Promise<number | null>;
};

type Spawned = {
  /** A file of this repository. */
  readonly file: URL;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** For Node itself. */
  readonly flags?: readonly string[];
};

const living = new Set<ChildProcess>();
// SIGTERM and not SIGKILL: the gateway stops its PostgreSQL, which would outlive it.
process.once('exit', () => living.forEach((child) => child.kill('SIGTERM')));

/** Starts a file with Node; resolves with its first line. What it writes to stderr goes to a log of the run. */
export async function startProcess(run: Pick<Run, 'folder'>, spawned: Spawned): Promise<Process> {
  const { file, args, environment = {}, flags = [] } = spawned;
  const child = spawn(process.execPath, [...flags, fileURLToPath(file), ...args], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  living.add(child);
  // A pipe breaks when the process is killed while it is told something.
  child.stdin.on('error', () => undefined);
  child.stderr.pipe(createWriteStream(join(run.folder, 'stderr.log'), { flags: 'a' }));
  const exited = once(child, 'exit').finally(() => living.delete(child));
  const lines = createInterface({ input: child.stdout });
  const answer = createAnswers(lines, exited);
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return {
    pid: child.pid ?? 0,
    ready: await answer(),
    running: () => child.exitCode === null && child.signalCode === null,
    answer,
    tell: (line) => void child.stdin.write(`${JSON.stringify(line)}\n`),
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  };
}

/** Lines in their order, each to one who waits or will. */
function createAnswers(lines: Interface, exited: Promise<unknown[]>): Process['answer'] {
  const early: string[] = [];
  const waiting: PromiseWithResolvers<string>[] = [];
  let over: Error | null = null;
  lines.on('line', (line) => {
    const next = waiting.shift();
    if (next) next.resolve(line);
    else early.push(line);
  });
  void exited.then(([code, signal]) => {
    over = new Error(`a process ended with ${code ?? signal}: see stderr.log of this run`);
    for (const next of waiting.splice(0)) next.reject(over);
  });
  return async () => {
    const line = early.shift();
    if (line !== undefined) return JSON.parse(line);
    if (over) throw over;
    const next = Promise.withResolvers<string>();
    waiting.push(next);
    return JSON.parse(await next.promise);
  };
}
