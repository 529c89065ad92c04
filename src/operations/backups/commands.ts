import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { moveToPaused } from '../../messaging/restore-guard/sql.ts';
import type { CommandContext } from '../../platform/cli.ts';
import { createBackup } from '../../platform/db/embedded/backups/create.ts';
import { pruneArchive } from '../../platform/db/embedded/backups/prune.ts';
import { type Restored, restoreBackup } from '../../platform/db/embedded/backups/restore.ts';
import type { Db } from '../../platform/db/query.ts';
import { StartupError } from '../../platform/db/startup-error.ts';
import { silentLog } from '../../platform/lib/log.ts';
import { quotablePath } from '../../platform/lib/setting-rules.ts';

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
    .option('--wal <folder>', 'folder to read archived WAL from, in place of WAL_ARCHIVE', toSource)
    .option(
      '--to-time <time>',
      'time to restore to, such as 2027-01-31T12:00:00Z; by default all that was archived',
      toTime,
    )
    .action(async ({ from, wal, toTime: time }: RestoreFlags) => {
      const { dataDir, walArchive } = embeddedOnly(context);
      const folders = { dataDir, from, wal: wal ?? walArchive, walArchive };
      const reason = `restored from the backup ${from}${time === undefined ? '' : ` to ${time.toISOString()}`}`;
      const beforeUse = (db: Db): Promise<boolean> => moveToPaused(db, { reason });
      const restored = await restoreBackup({ ...folders, time, beforeUse, log: silentLog });
      context.report(restored, showRestored);
    });

  backup
    .command('prune')
    .description('delete archived WAL that only backups older than this one need')
    .requiredOption('--oldest <folder>', 'folder of the oldest backup that is kept', toPath)
    .action(async ({ oldest }: { oldest: string }) => {
      const { walArchive } = embeddedOnly(context);
      if (walArchive === undefined) throw new StartupError('WAL_ARCHIVE is not set: there is nothing to prune.');
      const deleted = await pruneArchive(walArchive, oldest);
      context.report({ deleted }, () => `${deleted} files were deleted from ${walArchive}.`);
    });
}

type RestoreFlags = { readonly from: string; readonly wal?: string; readonly toTime?: Date };

const toPath = (value: string): string => resolve(value);

/** PostgreSQL reads from this folder with a shell command. */
function toSource(value: string): string {
  try {
    return quotablePath(value);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

function toTime(value: string): Date {
  // A time without a zone would be in the zone of this machine, which need not be that of the log's reader.
  const time = new Date(value);
  if (!/(Z|[+-]\d\d:\d\d)$/.test(value) || Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('must be a time with its zone, such as 2027-01-31T12:00:00Z.');
  return time;
}

function embeddedOnly(context: CommandContext): ReturnType<CommandContext['config']> {
  const config = context.config();
  if (config.databaseUrl === undefined) return config;
  throw new StartupError(
    'DATABASE_URL is set: back up your own PostgreSQL with its tools (docs/operating.md, "Backups").',
  );
}

const showCreated = (to: string, finishedAt: Date): string =>
  `The backup is in ${to}. It can be restored to ${finishedAt.toISOString()}, or to a later time with the archived WAL.\n` +
  'It contains no files (DATA_DIR/files) and no secret key: back them up separately.';

const showRestored = ({ lastCommit }: Restored): string =>
  `The database is restored${lastCommit === null ? '' : `; its last commit is of ${lastCommit.toISOString()}`}.\n` +
  'Sending is paused: start the program, see `fence show`, then decide with `fence confirm` or `fence discard`.';
