import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestProgram } from './program.ts';
import { PASSWORD } from './program.ts';

const MAIN = fileURLToPath(new URL('../../src/app/main.ts', import.meta.url));

type Environment = Pick<TestProgram, 'environment'>;
export type Operated = { readonly code: number; readonly answer: unknown; readonly stderr: string };

/** Runs an operator command with --json in a process of its own, against the database of a running program. */
export const operate = ({ environment }: Environment, ...command: readonly string[]): Promise<Operated> =>
  new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...command, '--json'], { env: environment }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), answer: stdout === '' ? null : JSON.parse(stdout), stderr }),
    );
  });

/** `connection add smpp` to a carrier on this machine whose system_id is its name. */
export const connect = (program: Environment, { name, port }: { name: string; port: number }): Promise<Operated> =>
  operate(
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
