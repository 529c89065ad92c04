// Writes docs/commands.md, the commands of the program by group, from their help; --check fails if the file is out of date.
import { Command } from 'commander';
import { COMMANDS } from '../src/commands.ts';
import type { CommandContext } from '../src/core/cli.ts';
import { checkOrWrite } from './generated-file.ts';

const HEAD = `# Commands

This page is generated from the help of the program (\`node scripts/generate-commands.ts\`). \`heliograph COMMAND --help\` has the
options and examples of a command. How commands are run, and which settings they use, is in
[operating](operating.md#commands).`;

const program = new Command('heliograph');
// Nothing is run, so nothing of the context is needed but what commands declare when they are registered.
const context = { createsEnvFile: () => undefined } as unknown as CommandContext;
for (const register of COMMANDS) register(program, context);

/** Commands without subcommands. */
function leavesOf(command: Command, path: string): (readonly [string, string])[] {
  const name = `${path}${command.name()}`;
  if (command.name() === 'call' || command.commands.length === 0) {
    const args = command.registeredArguments.map(
      (each) => ` ${each.required ? each.name().toUpperCase() : `[${each.name().toUpperCase()}]`}`,
    );
    const options = command.options
      .filter(({ mandatory }) => mandatory)
      .map(({ flags }) => ` ${flags.replace(/^-\w, /, '')}`);
    return [[`${name}${args.join('')}${options.join('')}`, command.description()]];
  }
  return command.commands.flatMap((each) => leavesOf(each, `${name} `));
}

const groups = Map.groupBy(
  program.commands.filter((command) => command.helpGroup() !== ''),
  (command) => command.helpGroup().replace(/:$/, ''),
);
const escape = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const sections = [...groups].map(([heading, commands]) => {
  const rows = commands
    .flatMap((command) => leavesOf(command, ''))
    .map(([usage, description]) => `| \`${escape(usage)}\` | ${escape(description)} |`);
  return [`## ${heading}\n`, '| Command | |', '|---|---|', ...rows].join('\n');
});
await checkOrWrite(new URL('../docs/commands.md', import.meta.url), `${[HEAD, ...sections].join('\n\n')}\n`);
