import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findStorageFault } from '../../../src/core/open-storage.ts';
import { createS3Storage } from '../../../src/core/storage-s3.ts';
import { type S3Server, startS3 } from './s3.ts';

const KEY = "a folder/it's (1).txt";
const AT = { Bucket: 'files', Key: KEY };

let server: S3Server;
beforeAll(async () => {
  server = await startS3();
  await server.client.send(new PutObjectCommand({ ...AT, Body: 'hello' }));
});
afterAll(() => server[Symbol.asyncDispose]());

const codeOf = async (response: Response): Promise<string | undefined> => {
  const text = await response.text();
  return response.ok ? text : /<Code>(\w+)<\/Code>/.exec(text)?.[1];
};
const presigned = (expiresIn = 60): Promise<string> =>
  getSignedUrl(server.client, new GetObjectCommand(AT), { expiresIn });

test('what the owner signs is served, by header and by presigned URL', async () => {
  const { Body } = await server.client.send(new GetObjectCommand(AT));
  expect(await Body?.transformToString()).toBe('hello');
  expect(await codeOf(await fetch(await presigned()))).toBe('hello');
});

test('a request without a signature is refused', async () => {
  const { endpoint = '' } = server.settings;
  expect(await codeOf(await fetch(`${endpoint}/files?list-type=2`))).toBe('AccessDenied');
});

test('a presigned URL is good for its request alone, and until it expires', async () => {
  const url = await presigned();
  expect(await codeOf(await fetch(url, { method: 'DELETE' }))).toBe('SignatureDoesNotMatch');
  expect(await codeOf(await fetch(url.replace('%281%29', '%282%29')))).toBe('SignatureDoesNotMatch');
  expect(await codeOf(await fetch(url.replace('X-Amz-Expires=60', 'X-Amz-Expires=6000')))).toBe(
    'SignatureDoesNotMatch',
  );
  const old = new Date(Date.now() - 120_000);
  const expired = await getSignedUrl(server.client, new GetObjectCommand(AT), { expiresIn: 60, signingDate: old });
  expect(await codeOf(await fetch(expired))).toBe('AccessDenied');
});

test('a body that was changed on its way is refused', async () => {
  const changing = new PutObjectCommand({ ...AT, Body: 'hello' });
  changing.middlewareStack.add(
    (next) => (args) => next({ ...args, request: Object.assign(args.request as object, { body: 'hullo' }) }),
    { step: 'finalizeRequest', priority: 'low' },
  );
  await expect(server.client.send(changing)).rejects.toMatchObject({ name: 'XAmzContentSHA256Mismatch' });
});

test.each([
  [{ secretAccessKey: 'wrong' }, 'the secret does not belong to the access key: correct S3_SECRET_ACCESS_KEY'],
  [{ accessKeyId: 'NOBODY' }, 'the access key is not known: correct S3_ACCESS_KEY_ID'],
])('with %j the program names what to correct', async (wrong, fault) => {
  const { credentials, ...settings } = server.settings;
  const owner = { accessKeyId: '', secretAccessKey: '', ...credentials, ...wrong };
  const storage = createS3Storage({ ...settings, credentials: owner });
  expect(await findStorageFault(storage)).toBe(fault);
  await storage.close();
});

test('another region is refused', async () => {
  const storage = createS3Storage({ ...server.settings, region: 'eu-west-1' });
  expect(await findStorageFault(storage)).toBe('the bucket is in another region: correct S3_REGION');
  await storage.close();
});
