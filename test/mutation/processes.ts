import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../support/temporary-folder.ts';
import type { Note, Plan } from './plan.ts';

const RUN_PLAN = fileURLToPath(new URL('run-plan.ts', import.meta.url));
const POLL_MS = 250;
/** For the start of a process and the hooks of a file, on a busy machine. */
const GRACE_MS = 60_000;

/** A plan without its notes file. */
export type PlanOf<P = Plan> = P extends Plan ? Omit<P, 'notes'> : never;

/** Runs one plan in a process of its own, and returns what it noted until it ended or had to be ended. */
export type RunPlan = (plan: PlanOf, timeoutMs: number) => Promise<Note[]>;

/** Runs the plans of one area. Disposing of it removes what its processes have written. */
export type Runner = AsyncDisposable & { readonly run: RunPlan };

/**
 * Opens a runner. A process that notes nothing for longer than a test may take is ended with all its children: one of
 * its mutants never comes to an end.
 */
export async function openRunner(clusterUrl: string, area: string): Promise<Runner> {
  const folder = await temporaryFolder('heliograph-mutation-');
  const cache = join(folder, 'cache');
  return {
    async run(plan, timeoutMs) {
      const notes = join(folder, randomUUID());
      const planText = JSON.stringify({ ...plan, notes });
      const args = [RUN_PLAN, clusterUrl, area, planText, String(timeoutMs), cache];
      const child = spawn(process.execPath, args, { detached: true, stdio: 'ignore' });
      const end = (): void => void (child.pid !== undefined && killGroup(child.pid));
      process.once('exit', end);
      await untilDone(child, { notes, silenceMs: timeoutMs + GRACE_MS, end });
      process.off('exit', end);
      end();
      const lines = (await readNotes(notes)).split('\n').filter(Boolean);
      return lines.map((line) => JSON.parse(line) as Note);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 10 }),
  };
}

/** Waits until a process has ended, and ends it when its notes do not grow for too long. */
async function untilDone(
  child: ChildProcess,
  { notes, silenceMs, end }: { notes: string; silenceMs: number; end: () => void },
): Promise<void> {
  const exited = new Promise<true>((resolve) => child.once('exit', () => resolve(true)));
  let length = 0;
  let silentSince = performance.now();
  while (!(await Promise.race([exited, delay(POLL_MS, false)]))) {
    const text = await readNotes(notes);
    if (text.length !== length) silentSince = performance.now();
    length = text.length;
    if (performance.now() - silentSince > silenceMs) end();
  }
}

const readNotes = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All its processes have ended.
  }
}
