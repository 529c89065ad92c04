import type { Command } from 'commander';
import { findAccount } from '../identity/accounts/find.ts';
import type { CommandContext } from '../platform/cli.ts';
import type { Config } from '../platform/config.ts';
import { AppError } from '../platform/errors.ts';
import { silentLog } from '../platform/lib/log.ts';
import { loadSecretKey } from '../platform/secret-key.ts';
import { listObstacles, matchConnections } from './check.ts';
import { type Cell, openCell } from './copy.ts';
import { openDirectory } from './directory.ts';
import { clearMoved, findAway, moveAccount } from './move.ts';

type Options = {
  readonly to?: number | undefined;
  readonly dryRun?: true;
  readonly clear?: true;
  readonly filesAreCopied?: true;
};

/** `cell move`. Run it with the settings of the cell that the account leaves. */
export function registerCellCommands(program: Command, context: CommandContext): void {
  program
    .command('cell')
    .description('several installations behind one proxy')
    .command('move')
    .argument('<account>', 'name or id')
    .option('--to <cell>', 'number of the cell to move to', Number)
    .option('--dry-run', 'only list the obstacles')
    .option('--files-are-copied', 'the files of the account are in the storage of the other cell')
    .option('--clear', 'delete the rows that a moved account has left here, after three days')
    .description('move an account to another cell while it is held; run it again to continue')
    .action(async (reference: string, options: Options) => {
      const config = context.config();
      if (options.dryRun && options.clear)
        throw new AppError('invalid', { message: '--dry-run and --clear cannot be used together' });
      await context.withDatabase(async (pool) => {
        const account = await findAccount(pool, { reference });
        await run(context, config, account, { to: (await findAway(pool, account.id))?.cell, ...options });
      });
    });
}

type Account = { readonly id: number; readonly name: string };

async function run(context: CommandContext, config: Config, { id, name }: Account, options: Options): Promise<void> {
  const { databases, directoryUrl } = config.cells;
  const { to = config.cell } = options;
  const refuse = (message: string): never => {
    throw new AppError('invalid', { message });
  };
  if (to === config.cell) refuse('--to must name another cell');
  await using opened = new AsyncDisposableStack();
  const open = async (number: number, url: string | undefined): Promise<Cell> => {
    const known = url ?? refuse(`The database of cell ${number} must have a URL, in DATABASE_URL or CELL_DATABASES`);
    return opened.use(await openCell(number, known, silentLog));
  };
  const known = directoryUrl ?? refuse('DIRECTORY_URL must be set: the directory records moved accounts');
  const directory = opened.adopt(await openDirectory(known, silentLog), (pool) => pool.end());
  const [source, target] = [await open(config.cell, config.databaseUrl), await open(to, databases.get(to))];
  const ends = { source: source.pool, target: target.pool, directory };
  if (options.clear) {
    await clearMoved(ends, id);
    return context.report(
      { accountId: id, cleared: true },
      () => `Cell ${config.cell} has no rows of ${name} any more.`,
    );
  }
  const secretKey = await loadSecretKey(config);
  const filesAreThere = options.filesAreCopied === true || config.storage.kind !== 'file';
  const isUnderWay = (await findAway(source.pool, id)) !== undefined;
  const obstacles = isUnderWay ? [] : await listObstacles({ ...ends, accountId: id, secretKey, filesAreThere });
  if (options.dryRun)
    return context.report(
      { accountId: id, obstacles },
      () => ['Obstacles:', ...(obstacles.length > 0 ? obstacles : ['nothing'])].join('\n'),
      obstacles.length === 0,
    );
  if (obstacles.length > 0) throw new AppError('conflict', { message: obstacles.join('\n') });
  const ids = await matchConnections(source.pool, target.pool);
  const moved = await moveAccount({ source, target, directory, accountId: id, ids, onStep: context.progress });
  context.report({ accountId: id, cell: to, ...moved }, ({ rows, heldMs }) =>
    heldMs === null
      ? `The account ${name} is served in cell ${to}.`
      : `The account ${name} is served in cell ${to}: ${rows} rows copied, held for ${heldMs} ms.`,
  );
}
