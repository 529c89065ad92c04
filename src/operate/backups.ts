import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { CommandContext } from '../core/cli.ts';
import { createBackup, pruneBackups, restoreBackup } from '../core/db/backups.ts';
import type { Db } from '../core/db/query.ts';
import { StartupError } from '../core/db/startup-error.ts';
import { silentLog } from '../core/log.ts';
import { moveToPaused } from '../messages/restore-guard.ts';

/** `backup create`, `restore` and `prune`: backups of the built-in PostgreSQL. */
export function registerBackupCommands(program: Command, context: CommandContext): void {
  const backup = program.command('backup').description('backups of the built-in PostgreSQL');

  backup
    .command('create')
    .description('copy the database into a new folder, while the program runs or is stopped')
    .requiredOption('--to <folder>', 'new folder for the backup', toPath)
    .action(async ({ to }: { to: string }) => {
      const { dataDir } = embeddedOnly(context);
      const { startedAt, finishedAt } = await context.withDatabase((pool) => createBackup(pool, { dataDir, to }));
      context.report({ folder: to, startedAt, finishedAt }, () => showCreated(to, finishedAt));
    });

  backup
    .command('restore')
    .description('make a backup the database of DATA_DIR, which must have none; sending is then paused')
    .requiredOption('--from <folder>', 'folder of the backup', toPath)
    .action(async ({ from }: { from: string }) => {
      const { dataDir } = embeddedOnly(context);
      const beforeUse = (db: Db): Promise<boolean> => moveToPaused(db, { reason: `restored from the backup ${from}` });
      const { finishedAt } = await restoreBackup({ dataDir, from, beforeUse, log: silentLog });
      context.report({ finishedAt }, () => showRestored(finishedAt));
    });

  backup
    .command('prune')
    .description('delete the oldest backups in a folder')
    .requiredOption('--in <folder>', 'folder in which the backups are', toPath)
    .requiredOption('--keep <number>', 'number of newest backups to keep', toCount)
    .action(async ({ in: folder, keep }: { in: string; keep: number }) => {
      const deleted = await pruneBackups(folder, keep);
      context.report({ deleted }, () => `${deleted.length} backups were deleted from ${folder}.`);
    });
}

const toPath = (value: string): string => resolve(value);

function toCount(value: string): number {
  if (!/^[1-9]\d{0,3}$/.test(value)) throw new InvalidArgumentError('must be a whole number from 1 to 9999.');
  return Number(value);
}

function embeddedOnly(context: CommandContext): ReturnType<CommandContext['config']> {
  const config = context.config();
  if (config.databaseUrl === undefined) return config;
  throw new StartupError(
    'DATABASE_URL is set: back up your own PostgreSQL with its tools (docs/how-to/backup-and-restore.md).',
  );
}

const showCreated = (to: string, finishedAt: Date): string =>
  `The backup of ${finishedAt.toISOString()} is in ${to}.\n` +
  'It contains no files (DATA_DIR/files) and no secret key: back them up separately.';

const showRestored = (finishedAt: Date): string =>
  `The database is restored as it was at ${finishedAt.toISOString()}.\n` +
  'Sending is paused: start the program, see `fence show`, then decide with `fence confirm` or `fence discard`.';
