import { readFileSync } from 'node:fs';
import { COMMANDS } from '../../../src/commands.ts';
import { runCommand } from '../../../src/core/cli.ts';
import { type Config, loadConfig, SETTING_NAMES } from '../../../src/core/config.ts';

// What files of deployment say about the program, compared with the program.

/** Returns true if the program has a command of this name. */
export async function isCommand(name: string): Promise<boolean> {
  let help = '';
  await runCommand(COMMANDS, {
    argv: ['node', 'main.ts', name, '--help'],
    env: {},
    stdout: { write: (text: string) => (help += text) },
    stderr: { write: () => undefined },
  });
  return help.startsWith(`Usage: heliograph ${name} `);
}

/** Reads an environment as the program does. Throws when it names a setting that does not exist, or has a wrong value. */
export function configOf(environment: Readonly<Record<string, string>>): Config {
  const unknown = Object.keys(environment).filter((name) => !SETTING_NAMES.has(name));
  if (unknown.length > 0) throw new Error(`there is no setting ${unknown.join(', ')}`);
  return loadConfig(environment);
}

const { paths } = JSON.parse(readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'));

/** Returns true if the program has a GET route for this path. */
export const isRoute = (path: string): boolean => paths[path]?.get !== undefined;
