import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestProgram } from './program.ts';
import { PASSWORD } from './program.ts';

const MAIN = fileURLToPath(new URL('../../src/app/main.ts', import.meta.url));

type Environment = Pick<TestProgram, 'environment'>;
export type OperatorResult = { readonly code: number; readonly answer: unknown; readonly stderr: string };

/** Runs an operator command with --json in a process of its own, against the database of a running program. */
export const runOperatorCommand = (
  { environment }: Environment,
  ...command: readonly string[]
): Promise<OperatorResult> =>
  new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...command, '--json'], { env: environment }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), answer: stdout === '' ? null : JSON.parse(stdout), stderr }),
    );
  });

/** Runs `connection add smpp` for a carrier on this machine whose system_id is its name. */
export const addConnection = (
  program: Environment,
  { name, port }: { name: string; port: number },
): Promise<OperatorResult> =>
  runOperatorCommand(
    program,
    'connection',
    'add',
    'smpp',
    '--name',
    name,
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--system-id',
    name,
    '--password',
    PASSWORD,
  );
