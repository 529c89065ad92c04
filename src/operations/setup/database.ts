import { createDataDir } from '../../platform/db/data-dir.ts';
import { nameOfDatabase } from '../../platform/lib/database-url.ts';
import type { Answers } from './answers.ts';
import type { Settings } from './env-file.ts';
import type { Wanted } from './step.ts';

/**
 * Asks for the database: the URL of a PostgreSQL, or none for the built-in one in DATA_DIR. The folder is created, because
 * files, and the built-in database, are in it.
 */
export async function setUpDatabase(answers: Answers, known: Partial<Settings>): Promise<Wanted> {
  const dataDir = await answers.text({
    flag: 'dataDir',
    text: 'Folder for the data',
    known: known['DATA_DIR'],
    fallback: '/var/lib/heliograph',
  });
  await createDataDir(dataDir);
  const isOwn = await answers.text({
    flag: 'database',
    text: 'Database: "own" for a PostgreSQL of yours, "built-in" for one in that folder',
    known: known['DATABASE_URL'] ? 'own' : known['DATA_DIR'] ? 'built-in' : '',
    fallback: 'built-in',
  });
  const given = await answers.optionalSecret('--database-url');
  const url = given ?? (known['DATABASE_URL'] || (isOwn === 'own' ? await answers.secret('--database-url') : ''));
  return {
    step: 'database',
    settings: { DATA_DIR: dataDir, ...(url !== '' && { DATABASE_URL: url }) },
    detail: url === '' ? `the built-in PostgreSQL in ${dataDir}` : nameOfDatabase(url),
  };
}
