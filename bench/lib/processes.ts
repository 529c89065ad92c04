import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { probedPids, type Work, workOf } from './probe.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.ts');
const PROBE = join(import.meta.dirname, 'probe.ts');
/** The flags of `npm start` and the container image. */
export const NODE_FLAGS = ['--max-semi-space-size=8', '--heap-growing-percent=150'];

/** A command of the program that runs as a separate process. */
export type Running = {
  readonly pid: number;
  /** The JSON that the command printed (`--json`) when it was ready. */
  readonly ready: Record<string, unknown>;
  /** The peak memory of the process in MB (VmHWM). */
  peakMb(): number;
  /** The CPU time that all its threads have used since it began, in seconds. */
  cpuSeconds(): number;
  stop(): Promise<void>;
};

/** A command whose CPU time, memory and work are those of all its processes. */
export type Probed = Running & { work(): Promise<Work> };

/** Runs a command of the program as a separate process; resolves when it has printed with --json that it is ready. */
export const runCommand = (args: readonly string[], env: Record<string, string> = {}): Promise<Running> =>
  run([MAIN, '--json', ...args], env);

/** The same with a probe that counts its work. */
export async function runProbed(
  args: readonly string[],
  env: Record<string, string>,
  dataDir: string,
): Promise<Probed> {
  const running = await run(['--import', PROBE, MAIN, '--json', ...args], { ...env, DATA_DIR: dataDir });
  const sum = (of: (pid: number) => number): number => probedPids(dataDir).reduce((all, pid) => all + of(pid), 0);
  return {
    ...running,
    peakMb: () => sum(peakMbOf),
    cpuSeconds: () => sum(cpuSecondsOf),
    work: () => workOf(dataDir),
  };
}

/** Runs a script of the bench as a separate process; resolves when it has printed a line of JSON. */
export const runScript = (args: readonly string[]): Promise<Running> => run(args, {});

async function run(args: readonly string[], env: Record<string, string>): Promise<Running> {
  const child = spawn(process.execPath, [...NODE_FLAGS, ...args], {
    env: { ...process.env, LOG_LEVEL: 'error', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ready: Record<string, unknown> = JSON.parse(await firstLine(child));
  const pid = child.pid ?? 0;
  return { pid, ready, peakMb: () => peakMbOf(pid), cpuSeconds: () => cpuSecondsOf(pid), stop: () => stop(child) };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('no stdout');
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([
    once(lines, 'line'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the command ended with ${code}`);
    }),
  ]);
  return String(line);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

function peakMbOf(pid: number): number {
  const kb = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round(Number(kb) / 1024);
}

const TICKS_PER_SECOND = 100;

/** The CPU time that a process has used, in seconds. */
export function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
