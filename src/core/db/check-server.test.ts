import { expect, inject, onTestFinished, test } from 'vitest';
import { databaseUrl, runOn } from '../../../test/support/cluster.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { silentLog } from '../log.ts';
import { checkServer } from './migrate.ts';
import { createPool } from './pool.ts';

const database = testDatabase({ empty: true });

test('a server of this version, with UTF-8 and a session for each connection, is fine', async () => {
  await checkServer(database.pool);
});

test('another encoding than UTF-8 is refused with what to do', async () => {
  const name = `latin_${process.pid}`;
  const cluster = inject('clusterUrl');
  await runOn(cluster, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'`);
  const pool = createPool(databaseUrl(cluster, name), { max: 2, applicationName: 'test', log: silentLog });
  onTestFinished(async () => {
    await pool.end();
    await runOn(cluster, `DROP DATABASE ${name} WITH (FORCE)`);
  });
  await expect(checkServer(pool)).rejects.toThrow('The encoding of the database is LATIN1, but UTF8 is required');
});
