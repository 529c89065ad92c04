import type { Command } from 'commander';
import type { Pool } from 'pg';
import { findAccount } from '../../identity/accounts/find.ts';
import { type CommandContext, table } from '../../platform/cli.ts';
import type { Config } from '../../platform/config.ts';
import { AppError } from '../../platform/errors.ts';
import { silentLog } from '../../platform/lib/log.ts';
import { loadSecretKey } from '../../platform/secret-key.ts';
import { openDirectory } from '../directory/open.ts';
import { type Cell, openCell } from './cells.ts';
import { listObstacles, matchConnections } from './check.ts';
import { finishMove } from './finish.ts';
import { measureAccount, type Measured } from './measure.ts';
import { type Moved, moveAccountTo, type MoveInput, undo } from './move.ts';
import { findMove, tryMoveLock } from './sql.ts';
import { listForeignSecrets, listLocalFiles } from './surroundings.ts';

type Options = {
  readonly to?: number;
  readonly dryRun?: true;
  readonly abort?: true;
  readonly finish?: true;
  readonly now?: true;
  readonly filesAreCopied?: true;
};

/** `account move`. Run it with the settings of the cell that the account leaves. */
export function registerMoveCommand(account: Command, context: CommandContext): void {
  account
    .command('move')
    .argument('<account>', 'name or id')
    .option('--to <cell>', 'number of the cell that serves it from then on', Number)
    .option('--dry-run', 'only say what would move, and what is in the way')
    .option('--files-are-copied', 'the files of the account are in the storage of the other cell')
    .option('--abort', 'have an account served here again that has not left yet')
    .option('--finish', 'delete here what an account that left three days ago or earlier has kept')
    .option('--now', 'with --finish: delete even though receipts may still arrive')
    .description('move an account to another cell (CELL_DATABASES), while it sends; the same command again goes on')
    .action(async (reference: string, options: Options) => {
      const config = context.config();
      checkOptions(options);
      await context.withDatabase(async (pool) => {
        const { id, name } = await findAccount(pool, { reference });
        await withMove(config, pool, id, options, (work) => run(context, config, work, { id, name, options }));
      });
    });
}

/** Each of these does something else, and two of them cannot be undone. */
const WAYS = { dryRun: '--dry-run', abort: '--abort', finish: '--finish' } as const;

function checkOptions(options: Options): void {
  const [first, second] = Object.entries(WAYS).flatMap(([way, flag]) => (way in options ? [flag] : []));
  if (second !== undefined) throw new AppError('invalid', { message: `${first} and ${second} exclude each other` });
}

type Work = Pick<MoveInput, 'source' | 'target' | 'directory' | 'checkLock'>;
type Request = { readonly id: number; readonly name: string; readonly options: Options };

async function run(context: CommandContext, config: Config, work: Work, { id, name, options }: Request): Promise<void> {
  const { source, target, directory } = work;
  if (options.abort) {
    const served = await undo({ source: source.pool, target: target.pool, directory }, id);
    const text = served
      ? `The account ${name} is served in cell ${source.number}.`
      : `The account ${name} has left for cell ${target.number}: move it back from there.`;
    return context.report({ accountId: id, served }, () => text, served);
  }
  if (options.finish) {
    await finishMove({ source: source.pool, target, accountId: id, evenIfRecent: options.now === true });
    return context.report(
      { accountId: id, finished: true },
      () => `Cell ${source.number} has nothing of ${name} any more.`,
    );
  }
  const obstacles = await obstaclesOf(config, work, { id, name, options });
  if (options.dryRun) {
    const measured = await measureAccount(source.pool, id);
    return context.report({ accountId: id, ...measured, obstacles }, showPlan(obstacles), obstacles.length === 0);
  }
  if (obstacles.length > 0) throw new AppError('conflict', { message: obstacles.join('\n') });
  const ids = await matchConnections(source.pool, target.pool);
  const moved = await moveAccountTo({
    ...work,
    accountId: id,
    ids,
    onStep: context.progress,
  });
  context.report({ accountId: id, cell: target.number, ...moved }, showMoved(name, target.number));
}

async function obstaclesOf(config: Config, { source, target }: Work, { id, options }: Request): Promise<string[]> {
  if ((await findMove(source.pool, { accountId: id }))?.state === 'left')
    return listObstacles({ source, target, accountId: id });
  const copiesFiles = options.filesAreCopied !== true && config.storage.kind === 'file';
  return [
    ...(await listObstacles({ source, target, accountId: id })),
    ...(await listForeignSecrets(target.pool, await loadSecretKey(config))),
    ...(copiesFiles ? await listLocalFiles(source.pool, id) : []),
  ];
}

/** Opens both cells and the directory, and keeps other runs for the same account out. */
async function withMove(
  config: Config,
  pool: Pool,
  accountId: number,
  { to }: Options,
  work: (work: Work) => Promise<void>,
): Promise<void> {
  const number = to ?? (await findMove(pool, { accountId }))?.cell;
  if (number === undefined)
    throw new AppError('invalid', { message: '--to must name the cell that serves the account from then on' });
  if (number === config.cell)
    throw new AppError('invalid', { message: `--to must name another cell than ${config.cell}` });
  await using opened = new AsyncDisposableStack();
  const open = async (cell: number): Promise<Cell> => {
    const url = cell === config.cell ? config.databaseUrl : config.cells.databases.get(cell);
    if (url === undefined)
      throw new AppError('invalid', {
        message:
          cell === config.cell
            ? 'Set DATABASE_URL: an account cannot leave the built-in PostgreSQL'
            : `CELL_DATABASES must name the database of cell ${cell}`,
      });
    const result = await openCell(cell, url, silentLog);
    opened.defer(result.close);
    return result;
  };
  const [source, target] = [await open(config.cell), await open(number)];
  const directory =
    config.cells.directoryUrl === undefined ? null : await openDirectory(config.cells.directoryUrl, silentLog);
  opened.defer(async () => directory?.end());
  const lock = await source.openSession();
  opened.defer(() => lock.end());
  if (!(await tryMoveLock(lock, { accountId })))
    throw new AppError('conflict', {
      message: 'Another command is moving the account, or a worker is ending what one has left: try again in a minute',
    });
  const checkLock = async (): Promise<void> => void (await lock.query('SELECT'));
  await work({ source, target, directory, checkLock });
}

const showPlan = (obstacles: readonly string[]) => (plan: Measured) =>
  [
    table(
      ['table', 'rows', 'octets', 'how'],
      plan.tables.map(({ name, count, octets, place }) => [name, count, octets, place]),
    ),
    `${plan.rows} rows, ${plan.octets} octets.`,
    ...(obstacles.length === 0 ? ['Nothing is in the way.'] : ['In the way:', ...obstacles]),
  ].join('\n');

const showMoved =
  (name: string, cell: number) =>
  ({ copied, carried, pauseMs }: Moved) =>
    pauseMs === null
      ? `The account ${name} is served in cell ${cell}.`
      : `The account ${name} is served in cell ${cell}: ${copied} rows copied and ${carried} taken along, and it was held for ${pauseMs} ms.`;
