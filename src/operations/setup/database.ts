import { resolve } from 'node:path';
import { createDataDir } from '../../platform/db/data-dir.ts';
import { hasCluster } from '../../platform/db/embedded/cluster.ts';
import { requireAnswer } from '../../platform/db/servers.ts';
import { invalidFields } from '../../platform/errors.ts';
import { nameOfDatabase } from '../../platform/lib/database-url.ts';
import { databaseUrl, oneOf } from '../../platform/lib/setting-rules.ts';
import type { Answers } from './answers.ts';
import type { Settings } from './env-file.ts';
import type { Wanted } from './step.ts';

/**
 * Asks for the database: the URL of a PostgreSQL, which has to answer before it is taken, or none for the built-in one in
 * DATA_DIR. The folder is created, because files, and the built-in database, are in it. Its path is absolute in the settings:
 * the service starts in another folder. Errors: 400 for contradictory options; StartupError for a database that does not answer.
 */
export async function setUpDatabase(answers: Answers, known: Partial<Settings>): Promise<Wanted> {
  const folder = await answers.text({
    flag: 'dataDir',
    text: 'Folder for the data',
    known: known['DATA_DIR'],
    fallback: '/var/lib/heliograph',
    rule: absolute,
  });
  const dataDir = known['DATA_DIR'] === folder ? folder : resolve(folder);
  await createDataDir(dataDir);
  const url = (await readUrl(answers, known['DATABASE_URL'] ?? '', await hasCluster(dataDir))) ?? '';
  return {
    step: 'database',
    settings: { DATA_DIR: dataDir, ...(url !== '' && { DATABASE_URL: url }) },
    detail: url === '' ? `the built-in PostgreSQL in ${dataDir}` : nameOfDatabase(url),
  };
}

/** A folder in the settings means nothing by itself: in many packages, the folder of the data is set before the database is. */
async function readUrl(answers: Answers, known: string, isBuiltIn: boolean): Promise<string | undefined> {
  const given = await answers.optionalSecret('--database-url', usable);
  const which = await answers.text({
    flag: 'database',
    text: 'Database: "own" for a PostgreSQL of yours, "built-in" for one in that folder',
    known: given || known ? 'own' : isBuiltIn ? 'built-in' : '',
    fallback: 'built-in',
    rule: oneOf(['own', 'built-in']),
  });
  if (which === 'own') return given ?? (known || answers.secret('--database-url', usable));
  if (given === undefined && known === '') return undefined;
  const where =
    given === undefined ? 'the settings have a DATABASE_URL: remove it there first' : 'not with --database-url';
  throw invalidFields([{ field: '--database built-in', message: where }]);
}

/** Accepts a URL of a PostgreSQL that answers: a wrong one in the settings would be kept by each further run. */
async function usable(url: string): Promise<void> {
  databaseUrl(url);
  await requireAnswer(url);
}

/** A shell would have replaced it, and nobody means a folder of this name. */
function absolute(folder: string): void {
  if (folder === '' || folder.startsWith('~')) throw new Error('must be the path of a folder, without ~');
}
