import { type CommandGroup, runCommand } from '../../src/core/cli.ts';
import type { TestDatabase } from './database.ts';

/** The exit code and the output of a command; `answer` is the JSON document on stdout. */
export type CommandResult = {
  readonly code: number;
  readonly answer: unknown;
  readonly stdout: string;
  readonly stderr: string;
};

/** Returns a function that runs operator commands in this process, with --json, on a test database. */
export const commandsOn =
  ({ connectionString }: Pick<TestDatabase, 'connectionString'>, ...groups: CommandGroup[]) =>
  async (...args: readonly string[]): Promise<CommandResult> => {
    const out = { stdout: '', stderr: '' };
    const writer = (name: keyof typeof out) => ({ write: (text: string) => (out[name] += text) });
    const code = await runCommand(groups, {
      argv: ['node', 'main.ts', '--json', ...args],
      env: { DATABASE_URL: connectionString, SECRET_KEY: '5e'.repeat(32) },
      stdout: writer('stdout'),
      stderr: writer('stderr'),
    });
    return { code, answer: code === 0 && out.stdout !== '' ? JSON.parse(out.stdout) : null, ...out };
  };
