import { createHmac, hkdfSync, randomUUID, timingSafeEqual } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { FSDriver } from 'flydrive/drivers/fs';
import type { Db } from './db/query.ts';
import { AppError } from './errors.ts';
import { job } from './jobs.ts';
import type { SecretKey } from './secrets.ts';
import { SECOND_MS } from './time.ts';

/** A range of the bytes of a file, both ends included. */
export type Range = { readonly start: number; readonly end: number };

/** A store of files: a folder on this machine, or an S3-compatible store. */
export type Storage = {
  /**
   * Writes or replaces a file and returns its size in bytes. The file exists completely or not at all, even if the
   * process dies while writing. A stream may have any length: memory use stays constant.
   */
  put(key: string, content: Readable | Uint8Array, options: { readonly contentType: string }): Promise<number>;
  /** Reads a file or a range of it. Rejects if the file does not exist. */
  get(key: string, range?: Range): Promise<Readable>;
  /** Returns the size of a file; undefined if it does not exist. */
  stat(key: string): Promise<{ readonly sizeBytes: number } | undefined>;
  exists(key: string): Promise<boolean>;
  /** Deletes a file; a file that does not exist is not an error. */
  delete(key: string): Promise<void>;
  close(): Promise<void>;
};

/**
 * At least two segments separated by slashes, none of which leads out of the store. Keys never contain a user's text.
 */
const KEY = /^[a-z0-9][a-z0-9_-]*(?:\/[a-z0-9][a-z0-9._-]*)+$/;

/** Returns the key, or throws if it is not a valid key of a stored file. */
export function checkKey(key: string): string {
  if (!KEY.test(key) || key.length > 500) throw new Error(`"${key}" is not a valid key of a stored file`);
  return key;
}

/**
 * The name of a file while it is written; `delete` finds it if the process dies. Keys are random, so each has one
 * writer.
 */
const unfinishedOf = (key: string): string => `${checkKey(key)}.part`;

/** Stores files in a folder on this machine, which is created with the first file. */
export function createLocalStorage(folder: string): Storage {
  const driver = new FSDriver({ location: folder, visibility: 'private' });

  async function put(key: string, content: Readable | Uint8Array): Promise<number> {
    const unfinished = unfinishedOf(key);
    try {
      const source = content instanceof Readable ? content : Readable.from([content]);
      // FlyDrive would create a new folder readable by everyone.
      await mkdir(dirname(join(folder, key)), { recursive: true, mode: 0o700 });
      await driver.putStream(unfinished, source);
      const sizeBytes = await sync(join(folder, unfinished));
      await rename(join(folder, unfinished), join(folder, key));
      await sync(dirname(join(folder, key)));
      return sizeBytes;
    } catch (error) {
      await driver.delete(unfinished).catch(() => undefined);
      throw error;
    }
  }

  return {
    put,
    async get(key, range) {
      // FlyDrive reads whole files only.
      const file = await open(join(folder, checkKey(key)));
      return createReadStream('', { fd: file, ...range });
    },
    async stat(key) {
      if (!(await driver.exists(checkKey(key)))) return undefined;
      return { sizeBytes: (await driver.getMetaData(key)).contentLength };
    },
    exists: (key) => driver.exists(checkKey(key)),
    async delete(key) {
      await driver.delete(unfinishedOf(key));
      await driver.delete(key);
    },
    close: async () => undefined,
  };
}

/** Flushes a file, or the entries of a folder, to disk: a row that is committed later must not outlive its file. */
async function sync(path: string): Promise<number> {
  await using file = await open(path);
  await file.sync();
  return (await file.stat()).size;
}

/** The target of a signed link: one version of a file. */
export type LinkTarget = {
  readonly kind: 'media' | 'thumbnail' | 'export';
  readonly accountId: number;
  /** The id of the file as used in the path. */
  readonly id: string;
  /** The link version of the file's row. The link is invalid once the row has another version or is gone. */
  readonly version: number;
};

/** A request for a file through a signed link. */
type LinkRequest = Pick<LinkTarget, 'kind' | 'id'> & { readonly method: string; readonly query: unknown };

/** The result of verifying a signed link. */
type LinkAnswer =
  | { readonly ok: true; readonly accountId: number; readonly version: number }
  | { readonly ok: false; readonly reason: 'forged' | 'expired' };

/**
 * Signs and verifies links that need no credentials. A link gives read access to one version of one file until it
 * expires. The caller must also compare the version with the file's row, so that links can be revoked.
 */
export type LinkSigner = {
  /**
   * Returns the query of the link, without the question mark. It expires at `expiresAt`, rounded down to the second.
   */
  sign(target: LinkTarget, expiresAt: Date): string;
  /** Checks the signature and the expiry of a link. */
  verify(link: LinkRequest, now: Date): LinkAnswer;
};

/** The query parameters of a link, except the signature. */
type Claims = { readonly account: string; readonly version: string; readonly expires: string; readonly key: string };

const NUMBER = /^[1-9]\d{0,15}$/;
const FORGED: LinkAnswer = { ok: false, reason: 'forged' };

/** Creates a signer. Its key is derived from SECRET_KEY: the key that encrypts passwords is not used for signing. */
export function createLinkSigner(secretKey: SecretKey): LinkSigner {
  const bytes = Buffer.from(hkdfSync('sha256', secretKey.bytes, '', 'heliograph signed links v1', 32));
  const keyId = secretKey.id.toString('hex');

  const signatureOf = ({ kind, id }: Pick<LinkTarget, 'kind' | 'id'>, claims: Claims): string =>
    // As JSON, so that the boundaries between the parts are unambiguous.
    createHmac('sha256', bytes)
      .update(JSON.stringify(['GET', claims.account, kind, id, claims.version, claims.expires, claims.key]))
      .digest('base64url');

  return {
    sign(target, expiresAt) {
      const claims: Claims = {
        account: String(target.accountId),
        version: String(target.version),
        expires: String(Math.floor(expiresAt.getTime() / 1000)),
        key: keyId,
      };
      return new URLSearchParams({ ...claims, signature: signatureOf(target, claims) }).toString();
    },
    verify({ kind, id, method, query }, now) {
      const claims = readClaims(query);
      if (!claims || claims.key !== keyId || (method !== 'GET' && method !== 'HEAD')) return FORGED;
      // Compared as text: several base64 texts decode to the same bytes, and only one of them is the one we issued.
      if (!equal(signatureOf({ kind, id }, claims), claims.signature)) return FORGED;
      if (now.getTime() >= Number(claims.expires) * 1000) return { ok: false, reason: 'expired' };
      return { ok: true, accountId: Number(claims.account), version: Number(claims.version) };
    },
  };
}

function readClaims(query: unknown): (Claims & { readonly signature: string }) | undefined {
  const [account, version, expires] = ['account', 'version', 'expires'].map((name) => textIn(query, name));
  const [key, signature] = [textIn(query, 'key'), textIn(query, 'signature')];
  if (!account || !version || !expires || !key || !signature) return undefined;
  return [account, version, expires].every((text) => NUMBER.test(text))
    ? { account, version, expires, key, signature }
    : undefined;
}

function textIn(query: unknown, name: string): string | undefined {
  const value: unknown = typeof query === 'object' && query !== null ? Reflect.get(query, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

function equal(ours: string, theirs: string): boolean {
  const [a, b] = [Buffer.from(ours), Buffer.from(theirs)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Opens an unnamed file in DATA_DIR: no other process can find it, and it is gone when it is closed or the process
 * ends, for any reason.
 *
 * await using file = await openTemporary(config.dataDir);
 */
export async function openTemporaryFile(dataDir: string): Promise<FileHandle> {
  const folder = join(dataDir, 'uploads');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, randomUUID());
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

/**
 * Cancels the scheduled removal of files, so that they stay. Call it in the transaction that commits the row that
 * refers to them. Throws, so that nothing is committed, if the removal of one of them has begun.
 */
export async function cancelRemovals(tx: Db, files: Files): Promise<void> {
  if ((await fileRemoval.cancel(tx, files)) < files.keys.length)
    throw new Error('the files took too long and were removed');
}

/** Deletion of a stored file that is no longer referenced: its row is gone, or never came. */
export const fileRemoval = job<{ readonly file: string }, { readonly storage: Pick<Storage, 'delete'> }>(
  'file.removal',
  { concurrency: 20 },
  ({ storage }, { payload }) => storage.delete(payload.file),
);

/** Corrections for the operator, by the name of the error with which a store or the SDK rejects a request. */
const FAULTS: ReadonlyMap<string, string> = new Map([
  ['NoSuchBucket', 'the bucket does not exist: create it, or correct S3_BUCKET'],
  ['InvalidBucketName', 'the name of the bucket is not valid: correct S3_BUCKET'],
  ['AccessDenied', 'the access key lacks rights: it needs s3:PutObject, s3:GetObject and s3:DeleteObject'],
  ['Forbidden', 'the access key lacks rights: it needs s3:PutObject, s3:GetObject and s3:DeleteObject'],
  ['InvalidAccessKeyId', 'the access key is not known: correct S3_ACCESS_KEY_ID'],
  ['SignatureDoesNotMatch', 'the secret does not belong to the access key: correct S3_SECRET_ACCESS_KEY'],
  ['RequestTimeTooSkewed', 'the clock of this machine is wrong: synchronise it by NTP'],
  ['PermanentRedirect', 'the bucket is elsewhere: correct S3_REGION or S3_ENDPOINT'],
  ['AuthorizationHeaderMalformed', 'the bucket is in another region: correct S3_REGION'],
  ['CredentialsProviderError', 'there are no credentials: set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY'],
]);

const RETRY_AFTER_SECONDS = 30;

/** Returns the correction that the operator has to make before the store can be used; undefined for any other error. */
export function findSetupFault(error: unknown): string | undefined {
  // FlyDrive throws its own errors, with that of the SDK as their cause.
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const fault = FAULTS.get(cause.name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/**
 * Attributes errors of the set-up to the operator: if the store rejects a request because of its set-up, the caller
 * gets a 503 instead of a 500, and the log names the correction.
 */
export function namingSetupFaults(storage: Storage): Storage {
  const naming =
    <A extends readonly unknown[], T>(call: (...args: A) => Promise<T>) =>
    (...args: A): Promise<T> =>
      call(...args).catch((error: unknown) => {
        const fault = findSetupFault(error);
        if (fault === undefined) throw error;
        const cause = new Error(`Files cannot be stored: ${fault}`, { cause: error });
        throw new AppError('unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause });
      });
  const { put, get, stat, exists, delete: remove, close } = storage;
  return {
    put: naming(put),
    get: naming(get),
    stat: naming(stat),
    exists: naming(exists),
    delete: naming(remove),
    close,
  };
}

type Files = { readonly accountId: number; readonly keys: readonly string[] };

/** Schedules the deletion of files after `afterSeconds`, unless `cancelRemovals` cancels it before. */
export function insertRemovals(
  db: Db,
  { accountId, keys, afterSeconds }: Files & { readonly afterSeconds: number },
): Promise<void> {
  const at = afterSeconds === 0 ? {} : { runAt: new Date(Date.now() + afterSeconds * SECOND_MS) };
  return fileRemoval.add(db, ...keys.map((key) => ({ accountId, key, payload: { file: key }, ...at })));
}
