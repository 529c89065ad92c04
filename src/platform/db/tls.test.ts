import { chown, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runOn } from '../../../test/support/cluster.ts';
import { removeDataDir } from '../../../test/support/data-dir.ts';
import { TEST_CERT, TEST_KEY } from '../../../test/support/http/certificate.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { loadConfig } from '../config.ts';
import { silentLog } from '../lib/log.ts';
import { type EmbeddedServer, startEmbedded } from './embedded/embedded.ts';
import { findServerUser } from './embedded/user.ts';
import { createPool } from './pool.ts';
import { one, sql } from './query.ts';
import { explainDatabaseError } from './startup-error.ts';

let folder: string;
let server: EmbeddedServer;
let authority: string;
beforeAll(async () => {
  folder = await temporaryFolder('heliograph-tls-');
  authority = join(folder, 'ca.pem');
  await writeFile(authority, TEST_CERT);
  server = await startEmbedded({ dataDir: join(folder, 'data'), log: silentLog });
  const dir = await realpath(join(folder, 'data', 'postgres'));
  const user = await findServerUser(dir);
  for (const [name, text] of Object.entries({ 'server.crt': TEST_CERT, 'server.key': TEST_KEY })) {
    await writeFile(join(dir, name), text, { mode: 0o600 });
    if (user) await chown(join(dir, name), user.uid, user.gid);
  }
  await runOn(server.connectionString, 'ALTER SYSTEM SET ssl = on');
  await runOn(server.connectionString, 'SELECT pg_reload_conf()');
}, 60_000);
afterAll(async () => {
  await server.stop();
  await removeDataDir(join(folder, 'data'));
});

/** Whether a session with these parameters in DATABASE_URL is encrypted, or what keeps it from being opened. */
async function connectWith(parameters: string): Promise<boolean | string> {
  const url = new URL(server.connectionString);
  url.search = parameters;
  const { databaseUrl = '' } = loadConfig({ DATABASE_URL: url.href });
  try {
    const pool = createPool(databaseUrl, { max: 1, applicationName: 'test', log: silentLog });
    const { ssl } = await one<{ ssl: boolean }>(
      pool,
      sql`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`,
    ).finally(() => void pool.end());
    return ssl;
  } catch (error) {
    return String(explainDatabaseError(error));
  }
}

describe('sslmode means what it means to libpq', () => {
  test.each([
    ['sslmode=disable', false],
    ['sslmode=prefer', true],
    ['sslmode=require', true],
    ['sslmode=no-verify', true],
  ])('%s asks for no certificate', async (parameters, encrypted) => {
    expect(await connectWith(parameters)).toBe(encrypted);
  });

  test.each(['require', 'verify-ca', 'verify-full'])('%s with sslrootcert checks the certificate', async (mode) => {
    expect(await connectWith(`sslmode=${mode}&sslrootcert=${authority}`)).toBe(true);
  });

  test('verify-full refuses an unknown authority and says what to add', async () => {
    expect(await connectWith('sslmode=verify-full')).toContain('add sslrootcert=/path/to/ca.pem to DATABASE_URL');
  });
});
