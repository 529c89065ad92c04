import { join } from 'node:path';
import type { Config } from '../config.ts';
import { createLocalStorage } from './local.ts';
import { namingSetupFaults } from './s3-faults.ts';
import type { Storage } from './storage.ts';

/** Opens the configured storage. The S3 SDK takes 100 ms and 20 MB to load, so it is loaded only if needed. */
export async function openStorage({ storage, dataDir }: Pick<Config, 'storage' | 'dataDir'>): Promise<Storage> {
  if (storage.kind === 'file') return createLocalStorage(join(dataDir, 'files'));
  const { createS3Storage } = await import('./s3.ts');
  return namingSetupFaults(createS3Storage(storage));
}
