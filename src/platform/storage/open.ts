import { join } from 'node:path';
import type { Config } from '../config.ts';
import { createLocalStorage } from './local.ts';
import type { Storage } from './storage.ts';

/** The storage that the settings name. The SDK of S3 takes 100 ms and 20 MB to load, so only who uses it does. */
export async function openStorage({ storage, dataDir }: Pick<Config, 'storage' | 'dataDir'>): Promise<Storage> {
  if (storage.kind === 'file') return createLocalStorage(join(dataDir, 'files'));
  const { createS3Storage } = await import('./s3.ts');
  return createS3Storage(storage);
}
