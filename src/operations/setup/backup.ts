import { resolve } from 'node:path';
import { invalidFields } from '../../platform/errors.ts';
import { KEYS } from '../../platform/setting-table.ts';
import type { Answers } from './answers.ts';
import type { Settings } from './env-file.ts';
import type { Wanted } from './step.ts';

/**
 * Asks for the folder in which the built-in PostgreSQL archives its log, and says what else a backup needs. A PostgreSQL of
 * yours is backed up with its own tools. Errors: 400 for a folder beside one's own PostgreSQL.
 */
export async function setUpBackup(answers: Answers, known: Partial<Settings>): Promise<Wanted> {
  const step = 'backup';
  const isOwn = Boolean(known['DATABASE_URL']);
  const archive = await answers.text({
    flag: 'walArchive',
    text: 'Folder on another disk for the log of the database, from which backups reach any time (empty: later)',
    known: known['WAL_ARCHIVE'],
    isOpen: !isOwn,
    rule: KEYS.WAL_ARCHIVE.parse,
  });
  if (isOwn && archive !== '')
    throw invalidFields([
      { field: '--wal-archive', message: 'is for the built-in database: yours archives by itself' },
    ]);
  if (isOwn) return { step, settings: {}, detail: 'with the tools of your PostgreSQL, and copies of the files' };
  if (archive === '')
    return { step, settings: {}, detail: 'no archive yet: run `backup create --to FOLDER` each night' };
  // The service starts in another folder than this command.
  const folder = archive === known['WAL_ARCHIVE'] ? archive : resolve(archive);
  const detail = `the log goes to ${folder}: run \`backup create --to FOLDER\` each night`;
  return { step, settings: { WAL_ARCHIVE: folder }, detail };
}
