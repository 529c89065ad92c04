// Writes db/schema.sql: migrates an empty database of its own and dumps it; with --check, fails if the file is out of
// date.
import { startEmbedded } from '../src/platform/db/embedded/embedded.ts';
import { MIGRATIONS_DIR, migrate } from '../src/platform/db/migrate.ts';
import { createPool } from '../src/platform/db/pool.ts';
import { dumpSchema } from './schema-dump.ts';
import { silentLog } from '../src/platform/lib/log.ts';
import { removeDataDir } from '../test/support/data-dir.ts';
import { temporaryFolder } from '../test/support/temporary-folder.ts';
import { checkOrWrite } from './generated-file.ts';

const dataDir = await temporaryFolder('heliograph-schema-');
const server = await startEmbedded({ dataDir, log: silentLog, durable: false });
const pool = createPool(server.connectionString, { max: 1, applicationName: 'dump-schema', log: silentLog });
try {
  await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
  await checkOrWrite(new URL('../db/schema.sql', import.meta.url), await dumpSchema(pool));
} finally {
  await pool.end();
  await server.stop();
  await removeDataDir(dataDir);
}
