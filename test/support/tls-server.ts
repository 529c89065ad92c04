import { chown, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbedded } from '../../src/core/db/embedded.ts';
import { findServerUser } from '../../src/core/db/embedded-settings.ts';
import { silentLog } from '../../src/core/log.ts';
import { runOn } from './cluster.ts';
import { removeDataDir } from './data-dir.ts';
import { TEST_CERT, TEST_KEY } from './http/certificate.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A PostgreSQL that takes only encrypted connections over TCP. */
export type TlsServer = {
  /** Its URL over TCP, without parameters. */
  readonly url: string;
  /** Files to name in a URL, by their names. */
  file(name: string, text: string): Promise<string>;
  stop(): Promise<void>;
};

/** The user of it who also needs a certificate that TEST_CERT has signed. */
export const CERTIFIED = 'certified';

/** Starts one that shows TEST_CERT, which names 127.0.0.1 and localhost. */
export async function startTlsServer(): Promise<TlsServer> {
  const folder = await temporaryFolder('heliograph-tls-');
  const server = await startEmbedded({ dataDir: join(folder, 'data'), log: silentLog });
  const dir = await realpath(join(folder, 'data', 'postgres'));
  const user = await findServerUser(dir);
  const settings = {
    'server.crt': TEST_CERT,
    'server.key': TEST_KEY,
    'pg_hba.conf': [
      'local all all scram-sha-256',
      `hostssl all ${CERTIFIED} all scram-sha-256 clientcert=verify-ca`,
      'hostssl all all all scram-sha-256',
    ].join('\n'),
  };
  for (const [name, text] of Object.entries(settings)) {
    await writeFile(join(dir, name), text, { mode: 0o600 });
    if (user) await chown(join(dir, name), user.uid, user.gid);
  }
  await runOn(server.connectionString, `CREATE USER ${CERTIFIED} SUPERUSER PASSWORD 'secret'`);
  await runOn(server.connectionString, "ALTER SYSTEM SET ssl_ca_file = 'server.crt'");
  await runOn(server.connectionString, 'ALTER SYSTEM SET ssl = on');
  await runOn(server.connectionString, 'SELECT pg_reload_conf()');
  const url = new URL(server.connectionString);
  url.search = '';
  return {
    url: url.href,
    async file(name, text) {
      const path = join(folder, name);
      await writeFile(path, text, { mode: 0o600 });
      return path;
    },
    async stop() {
      await server.stop();
      await removeDataDir(join(folder, 'data'));
    },
  };
}
