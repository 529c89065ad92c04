import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { between, oneOf, type Run } from '../lib/proof.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** After which of its steps a move is killed. */
const STEPS = ['holding', 'copying', 'switching'] as const;
/** After a step, a move is killed within this time. */
const MAX_KILL_DELAY_MS = 400;
const RETRY_MS = 500;

export type MoveResult = {
  readonly killed: boolean;
  /**
   * Time during which the account was held; null when the command was killed, or had been killed while it held the
   * account.
   */
  readonly heldMs: number | null;
  /** Number of rows copied. */
  readonly rows: number;
  /** Duration of each of its steps in ms, by name. */
  readonly steps?: Readonly<Record<string, number>>;
};

type Moving = {
  readonly accountId: number;
  readonly to: number;
  readonly environment: Readonly<Record<string, string>>;
};

/** Runs `cell move` until it has ended; throws when it fails. With `kill` it is killed at a random moment. */
export async function runMove(run: Run, moving: Moving, kill: boolean): Promise<MoveResult> {
  const { accountId, to, environment } = moving;
  const child = spawn(process.execPath, [MAIN, '--json', 'cell', 'move', String(accountId), '--to', String(to)], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const fatal = kill ? oneOf(run, STEPS) : null;
  const delayMs = between(run, 0, MAX_KILL_DELAY_MS);
  const told: string[] = [];
  const begun: { readonly step: string; readonly at: number }[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    told.push(line);
    begun.push({ step: line, at: performance.now() });
    if (line === fatal) void delay(delayMs).then(() => child.kill('SIGKILL'));
  });
  const output: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => output.push(line));
  const [code, signal] = await exited;
  if (signal === 'SIGKILL') return { killed: true, heldMs: null, rows: 0 };
  // As when its predecessor was killed a moment ago.
  if (told.some((line) => line.includes('Another process moves the account'))) {
    await delay(RETRY_MS);
    return runMove(run, moving, kill);
  }
  if (code !== 0) throw new Error(`cell move ended with ${code}: ${told.join('; ')}`);
  const endedAt = performance.now();
  const steps = Object.fromEntries(
    begun.map(({ step, at }, i) => [step, Math.round((begun[i + 1]?.at ?? endedAt) - at)]),
  );
  const { heldMs, rows } = JSON.parse(output.at(-1) ?? '{}');
  return { killed: false, heldMs, rows, steps };
}
