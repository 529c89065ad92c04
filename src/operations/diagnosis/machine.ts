import { X509Certificate } from 'node:crypto';
import { readFile, statfs } from 'node:fs/promises';
import type { Config } from '../../platform/config.ts';

/** Returns the free bytes where the data is stored; null when the folder cannot be read. */
export async function findFreeBytes(dataDir: string): Promise<number | null> {
  const disk = await statfs(dataDir).catch(() => null);
  return disk && disk.bavail * disk.bsize;
}

/** Returns the expiry of the TLS certificate in TLS_CERT; null when there is none, or none that can be read. */
export async function findCertificateEnd({ tls }: Pick<Config, 'tls'>): Promise<Date | null> {
  if (!tls) return null;
  try {
    return new X509Certificate(await readFile(tls.certFile)).validToDate;
  } catch {
    return null;
  }
}
