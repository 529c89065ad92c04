import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import http from 'node:http';
import { buffer } from 'node:stream/consumers';
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import S3rver from 's3rver';
import type { Config } from '../../../src/core/config.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { checkSignature } from './s3-signature.ts';

export type S3Server = AsyncDisposable & {
  /** Settings for `createS3Storage`, with an empty bucket. */
  readonly settings: Extract<Config['storage'], { readonly kind: 's3' }>;
  /** The same as environment variables. */
  readonly environment: Readonly<Record<string, string>>;
  /** A client of the owner. */
  readonly client: S3Client;
  /** The keys of all stored files. */
  keys(): Promise<string[]>;
};

const OWNER = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
const REGION = 'us-east-1';
const BUCKET = 'files';

/**
 * Starts a server that speaks the S3 protocol, with its own folder and bucket. It refuses each request that the
 * owner has not signed.
 */
export async function startS3(): Promise<S3Server> {
  const directory = await temporaryFolder('heliograph-s3-');
  const store = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: BUCKET }],
  });
  const gate = await openGate((await store.run()).port);
  const endpoint = `http://127.0.0.1:${gate.port}`;
  const client = new S3Client({ region: REGION, endpoint, forcePathStyle: true, credentials: OWNER });
  return {
    settings: {
      kind: 's3',
      bucket: BUCKET,
      region: REGION,
      pathStyle: true,
      prefix: 'heliograph/',
      endpoint,
      credentials: OWNER,
    },
    environment: {
      STORAGE: 's3',
      S3_BUCKET: BUCKET,
      S3_ENDPOINT: endpoint,
      S3_ACCESS_KEY_ID: OWNER.accessKeyId,
      S3_SECRET_ACCESS_KEY: OWNER.secretAccessKey,
    },
    client,
    async keys() {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET }));
      return Contents.flatMap(({ Key }) => Key ?? []);
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      await gate.close();
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
}

/** Opens the way to a store on this machine for requests with a good signature, which the package itself does not check. */
async function openGate(storePort: number): Promise<{ readonly port: number; close(): Promise<void> }> {
  const agent = new http.Agent({ keepAlive: true });
  async function pass(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { method = 'GET', url = '/', headers } = request;
    const body = await buffer(request);
    const refusal = checkSignature({ method, url, headers, body }, OWNER, REGION);
    if (refusal !== null) {
      response.writeHead(refusal.status, { 'content-type': 'application/xml' });
      response.end(method === 'HEAD' ? '' : `<Error><Code>${refusal.code}</Code><Message>Refused</Message></Error>`);
      return;
    }
    const forwarded = http.request({ port: storePort, host: '127.0.0.1', method, path: url, headers, agent });
    forwarded.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    forwarded.end(body);
  }
  const server = http.createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    async close() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}
