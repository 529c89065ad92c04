import type { Command } from 'commander';
import { type CommandContext, table } from '../../platform/cli.ts';
import { StartupError } from '../../platform/db/startup-error.ts';
import { type CellState, examineCells } from './overview/examine.ts';

/** `cell list`. The exit code is 1 if something is wrong with a cell. */
export function registerCellCommands(program: Command, context: CommandContext): void {
  program
    .command('cell')
    .description('several installations behind one proxy')
    .command('list')
    .description(
      'ask all cells of CELL_DATABASES how they are, and whether their connections, routes and prices are equal',
    )
    .action(async () => {
      const { databases } = context.config().cells;
      if (databases.size === 0) throw new StartupError('CELL_DATABASES must be set: it names the cells to ask.');
      const states = await examineCells(databases);
      const ok = states.every((state) => state.ok);
      context.report(states, showCells, ok);
    });
}

const showCells = (states: readonly CellState[]): string =>
  table(
    ['cell', 'accounts', 'waiting', 'state'],
    states.map(({ cell, accounts = '?', waiting = '?', ok, faults }) => [
      cell,
      accounts,
      waiting,
      ok ? 'ok' : faults.join('; '),
    ]),
  );
