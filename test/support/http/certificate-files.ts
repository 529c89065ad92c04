import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { TEST_CERT, TEST_KEY } from './certificate.ts';

/** Writes `TEST_CERT` and its key to files that end with the test, and returns the paths as the configuration has them. */
export async function writeTestCertificate(): Promise<{ readonly certFile: string; readonly keyFile: string }> {
  const folder = await temporaryFolder('heliograph-certificate-');
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await Promise.all([writeFile(certFile, TEST_CERT), writeFile(keyFile, TEST_KEY)]);
  return { certFile, keyFile };
}
