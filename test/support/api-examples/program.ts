import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeDataDir } from '../data-dir.ts';
import { freePort } from '../free-port.ts';
import { TEST_CERT } from '../http/certificate.ts';
import { startNameServer } from '../http/name-server.ts';
import { startReceiver } from '../http/receiver.ts';
import { startServeProcess } from '../serve-process.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import type { Stage } from './play.ts';

/**
 * Starts the program as `npm start` does for the first time: with its own PostgreSQL, the sandbox and the demo account.
 * A receiver on this machine takes the place of the servers in the examples, which an isolated machine does not reach, and a
 * name server knows no name.
 */
export async function startFirstTime(): Promise<Stage & AsyncDisposable> {
  const folder = await temporaryFolder(`heliograph-test-${process.pid}-`);
  const certificate = join(folder, 'receiver.pem');
  await writeFile(certificate, TEST_CERT);
  const receiver = await startReceiver();
  const nameServer = await startNameServer(() => []);
  const dataDir = join(folder, 'data');
  const program = startServeProcess('serve', {
    PATH: process.env['PATH'] ?? '',
    DATA_DIR: dataDir,
    // Links contain the configured port.
    PORT: String(await freePort()),
    LOG_LEVEL: 'silent',
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
    WEBHOOK_PORTS: `443,${receiver.port}`,
    SINGLE_SIGN_ON_PORTS: `443,${receiver.port}`,
    WEBHOOK_CA_FILE: certificate,
    DNS_SERVERS: nameServer.address,
    LINKEDIN_CLIENT_ID: 'example',
    LINKEDIN_CLIENT_SECRET: 'example',
  });
  const ready = await program.ready;
  const { port } = new URL(ready?.address ?? `http://no-address:1/?${program.errors()}`);
  return {
    // Passkeys belong to host names, not to addresses.
    origin: `http://localhost:${port}`,
    demo: JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8')),
    hosts: { 'https://example.com': receiver.url, 'https://login.example.com': receiver.url },
    async [Symbol.asyncDispose]() {
      program.signal('SIGTERM');
      await program.ended;
      program[Symbol.dispose]();
      await receiver[Symbol.asyncDispose]();
      await nameServer[Symbol.asyncDispose]();
      await removeDataDir(dataDir);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
