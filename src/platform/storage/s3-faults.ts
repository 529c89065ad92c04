import { AppError } from '../errors.ts';
import type { Storage } from './storage.ts';

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
