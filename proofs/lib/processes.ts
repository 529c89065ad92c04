import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Run } from './proof.ts';

/** A child process that has reported, with one line of JSON, that it is ready. */
export type Process = {
  readonly pid: number;
  readonly ready: Readonly<Record<string, unknown>>;
  running(): boolean;
  /** Resolves with the next line of its output, parsed as JSON. Rejects if the process ends first. */
  nextLine(): Promise<Record<string, unknown>>;
  send(line: object): void;
  /** Sends SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Sends SIGTERM; resolves with the exit code, or null if a signal ended it. */
  stop(): Promise<number | null>;
};

type SpawnOptions = {
  /** A file of this repository, run with Node. */
  readonly file: URL;
  readonly args: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Flags for Node itself. */
  readonly flags?: readonly string[];
};

const liveChildren = new Set<ChildProcess>();
// SIGTERM rather than SIGKILL: the gateway stops its PostgreSQL, which would otherwise outlive it.
process.once('exit', () => liveChildren.forEach((child) => child.kill('SIGTERM')));

/**
 * Starts a file with Node; resolves when it has printed its first line. Its stderr is appended to a log file of the
 * run.
 */
export async function startProcess(run: Pick<Run, 'folder'>, spawned: SpawnOptions): Promise<Process> {
  const { file, args, environment = {}, flags = [] } = spawned;
  const child = spawn(process.execPath, [...flags, fileURLToPath(file), ...args], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  liveChildren.add(child);
  // The pipe breaks if the process is killed while a message is being written.
  child.stdin.on('error', () => undefined);
  child.stderr.pipe(createWriteStream(join(run.folder, 'stderr.log'), { flags: 'a' }));
  const exited = once(child, 'exit').finally(() => liveChildren.delete(child));
  const lines = createInterface({ input: child.stdout });
  const answer = createLineQueue(lines, exited);
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return {
    pid: child.pid ?? 0,
    ready: await answer(),
    running: () => child.exitCode === null && child.signalCode === null,
    nextLine: answer,
    send: (line) => void child.stdin.write(`${JSON.stringify(line)}\n`),
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  };
}

/** Hands out lines in their order, to current or future callers. */
function createLineQueue(lines: Interface, exited: Promise<unknown[]>): Process['nextLine'] {
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
