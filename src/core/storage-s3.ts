import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { S3Driver } from 'flydrive/drivers/s3';
import type { Config } from './config.ts';
import { checkKey, type Storage } from './storage.ts';

export type S3Settings = Extract<Config['storage'], { readonly kind: 's3' }>;

/** Two parts are in memory at a time. S3 takes 10,000 parts of at least 5 MiB each, so a file may have up to 80 GB. */
const PART_BYTES = 8 * 1024 * 1024;

/** Stores files in a bucket of an S3-compatible store. Sends no request before the first file. */
export function createS3Storage(settings: S3Settings): Storage {
  const { bucket, prefix } = settings;
  const client = new S3Client(clientOptions(settings));
  // Files are private by the bucket's own rules: many stores have no ACLs, and the newer buckets of AWS reject them.
  const driver = new S3Driver({ client, bucket, visibility: 'private', supportsACL: false });
  const keyOf = (key: string): string => prefix + checkKey(key);

  async function putInParts(at: Target, first: Uint8Array, rest: AsyncIterable<Uint8Array>): Promise<number> {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(at));
    const upload = { Bucket: at.Bucket, Key: at.Key, UploadId };
    try {
      return await sendParts(client, upload, chain(first, rest));
    } catch (error) {
      await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
      throw error;
    }
  }

  return {
    async put(key, content, { contentType }) {
      const parts = splitIntoParts(content instanceof Uint8Array ? [content] : content, PART_BYTES);
      const first = (await parts.next()).value ?? new Uint8Array();
      if (first.length === PART_BYTES)
        return putInParts({ Bucket: bucket, Key: keyOf(key), ContentType: contentType }, first, parts);
      await driver.put(keyOf(key), first, { contentType, contentLength: first.length });
      return first.length;
    },
    async get(key, range) {
      const Range = range && `bytes=${range.start}-${range.end}`;
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: keyOf(key), Range }));
      if (!(Body instanceof Readable)) throw new Error('expected a stream of the file');
      return Body;
    },
    async stat(key) {
      if (!(await driver.exists(keyOf(key)))) return undefined;
      return { sizeBytes: (await driver.getMetaData(keyOf(key))).contentLength };
    },
    // A file that does not exist is forbidden to a key that may not list the bucket.
    exists: (key) =>
      driver.exists(keyOf(key)).catch((error: unknown) => {
        if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 403) return false;
        throw error;
      }),
    delete: (key) => driver.delete(keyOf(key)),
    close: async () => client.destroy(),
  };
}

type Target = { readonly Bucket: string; readonly Key: string; readonly ContentType: string };
type Upload = { readonly Bucket: string; readonly Key: string; readonly UploadId: string | undefined };

function clientOptions({ region, endpoint, credentials, pathStyle }: S3Settings) {
  return {
    region,
    forcePathStyle: pathStyle,
    // Newer checksums only where S3 requires them: compatible stores often lack them.
    requestChecksumCalculation: 'WHEN_REQUIRED' as const,
    responseChecksumValidation: 'WHEN_REQUIRED' as const,
    ...(endpoint === undefined ? {} : { endpoint }),
    // Without them the SDK uses the default chain of AWS: the environment, the machine's role.
    ...(credentials === undefined ? {} : { credentials }),
  };
}

async function sendParts(client: S3Client, upload: Upload, parts: AsyncIterable<Uint8Array>): Promise<number> {
  const Parts: CompletedPart[] = [];
  let sizeBytes = 0;
  for await (const Body of parts) {
    const PartNumber = Parts.length + 1;
    const { ETag } = await client.send(new UploadPartCommand({ ...upload, PartNumber, Body }));
    Parts.push({ PartNumber, ETag });
    sizeBytes += Body.length;
  }
  await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
  return sizeBytes;
}

/**
 * Splits a stream into parts of exactly `partBytes` bytes, except for the last, which has the rest; an empty stream has
 * no parts.
 */
async function* splitIntoParts(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  partBytes: number,
): AsyncGenerator<Uint8Array, undefined> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + partBytes - bytes);
      waiting.push(piece);
      at += piece.length;
      bytes += piece.length;
      if (bytes < partBytes) continue;
      yield Buffer.concat(waiting);
      [waiting, bytes] = [[], 0];
    }
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

async function* chain(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}
