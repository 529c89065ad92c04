import { COMMANDS } from '../../src/commands.ts';
import { runCommand } from '../../src/core/cli.ts';
import { PASSWORD, type TestProgram } from './program.ts';

type Environment = Pick<TestProgram, 'environment'>;
export type OperatorResult = { readonly code: number; readonly answer: unknown; readonly stderr: string };

/**
 * Runs an operator command with --json against the database of a running program. It runs in this process, because a
 * separate process takes a second of CPU time; `src/core/cli.test.ts` runs commands as an operator does.
 */
export async function runOperatorCommand(
  { environment }: Environment,
  ...command: readonly string[]
): Promise<OperatorResult> {
  const out = { stdout: '', stderr: '' };
  const writer = (name: keyof typeof out) => ({ write: (text: string) => (out[name] += text) });
  const code = await runCommand(COMMANDS, {
    argv: ['node', 'main.ts', ...command, '--json'],
    env: environment,
    stdout: writer('stdout'),
    stderr: writer('stderr'),
  });
  return { code, answer: out.stdout === '' ? null : JSON.parse(out.stdout), stderr: out.stderr };
}

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
