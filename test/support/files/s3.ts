import { rm } from 'node:fs/promises';
import S3rver from 's3rver';
import type { Config } from '../../../src/platform/config.ts';
import { temporaryFolder } from '../temporary-folder.ts';

export type S3Server = AsyncDisposable & {
  /** Settings for `createS3Storage`, with an empty bucket. */
  readonly settings: Extract<Config['storage'], { readonly kind: 's3' }>;
};

/**
 * Starts a server that speaks the S3 protocol, with a folder and a bucket of its own. It checks the access key, but not
 * the signature.
 */
export async function startS3(): Promise<S3Server> {
  const directory = await temporaryFolder('heliograph-s3-');
  const bucket = 'files';
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  });
  const { port } = await server.run();
  return {
    settings: {
      kind: 's3',
      bucket,
      region: 'us-east-1',
      pathStyle: true,
      prefix: 'heliograph/',
      endpoint: `http://127.0.0.1:${port}`,
      credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(directory, { recursive: true });
    },
  };
}
