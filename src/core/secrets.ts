import { createCipheriv, createDecipheriv, createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from './config.ts';
import { createDataDir, explainDatabaseError, readOrCreate, StartupError } from './db/startup-error.ts';
import { isSecure, sessionTokenIn } from './http/browser.ts';

/** A 256-bit key with a public id, so that sealed data shows which key opens it. */
export type SecretKey = { readonly id: Buffer; readonly bytes: Buffer };

const KEY_BYTES = 32;
const ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Creates a key from 32 bytes; throws if there are more or fewer. */
export function createSecretKey(bytes: Buffer): SecretKey {
  if (bytes.length !== KEY_BYTES) throw new Error(`a secret key has ${KEY_BYTES} bytes, not ${bytes.length}`);
  return { id: createHash('sha256').update('heliograph key id').update(bytes).digest().subarray(0, ID_BYTES), bytes };
}

/**
 * Encrypts with AES-256-GCM into key id (4 bytes), random nonce (12), ciphertext and tag (16). `aad` names the place
 * where the result is stored (table, column and row): moved to another place, the same bytes cannot be opened.
 */
export function seal(key: SecretKey, plaintext: string | Uint8Array, aad: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce).setAAD(Buffer.from(aad));
  const plain = typeof plaintext === 'string' ? Buffer.from(plaintext) : plaintext;
  return Buffer.concat([key.id, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Decrypts the output of `seal`. Throws if it was sealed with another key (the message says so: SECRET_KEY was
 * changed), for another place, or was modified.
 */
export function open(key: SecretKey, sealed: Uint8Array, aad: string): Buffer {
  const box = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (box.length < ID_BYTES + NONCE_BYTES + TAG_BYTES) throw new Error('the sealed value is truncated');
  if (!box.subarray(0, ID_BYTES).equals(key.id)) {
    throw new Error('the value was sealed with another key: restore the earlier SECRET_KEY, or set the secret again');
  }
  const nonce = box.subarray(ID_BYTES, ID_BYTES + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(aad)).setAuthTag(box.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(box.subarray(ID_BYTES + NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}

/**
 * Loads the key that encrypts passwords and tokens: SECRET_KEY, or the key in DATA_DIR/secret.key (mode 0600), which
 * the first start creates. Throws a StartupError if the file is damaged or cannot be read.
 */
export async function loadSecretKey(config: Pick<Config, 'secretKey' | 'dataDir'>): Promise<SecretKey> {
  if (config.secretKey !== undefined) return createSecretKey(config.secretKey);
  const path = join(config.dataDir, 'secret.key');
  const text = await readKeyFile(config.dataDir, path);
  const bytes = Buffer.from(text.trim(), 'base64url');
  if (bytes.length !== 32) throw new StartupError(`${path} is damaged: restore it from a backup, or set SECRET_KEY.`);
  return createSecretKey(bytes);
}

async function readKeyFile(dataDir: string, path: string): Promise<string> {
  try {
    await createDataDir(dataDir);
    return await readOrCreate(path, () => `${randomBytes(32).toString('base64url')}\n`);
  } catch (error) {
    throw explainDatabaseError(error);
  }
}

/** The credentials that a request presents, not yet verified. */
type Credentials =
  | { readonly kind: 'key'; readonly value: string }
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'session'; readonly token: string }
  | { readonly kind: 'none' };

type Request = {
  readonly protocol: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
};

/**
 * Reads `X-API-Key` or `Authorization: Basic`. With both, only the key counts, even if it is wrong and the password
 * right (both schemes are accepted everywhere; the key is the narrower of the two). An empty key header, another
 * scheme and a malformed value count as `none`. A session cookie counts only if neither header is present.
 */
export function readCredentials(request: Request): Credentials {
  const { 'x-api-key': key, authorization, cookie } = request.headers;
  if (typeof key === 'string' && key !== '') return { kind: 'key', value: key };
  if (Array.isArray(key) || authorization !== undefined) return readBasic(authorization);
  const token = sessionTokenIn(typeof cookie === 'string' ? cookie : undefined, isSecure(request));
  return token === undefined ? { kind: 'none' } : { kind: 'session', token };
}

/** RFC 7617: the password may contain colons, the username may not. UTF-8, as announced in our challenge. */
function readBasic(header: string | string[] | undefined): Credentials {
  const encoded = typeof header === 'string' ? /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1] : undefined;
  const pair = Buffer.from(encoded ?? '', 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 1) return { kind: 'none' };
  return { kind: 'basic', username: pair.slice(0, colon), password: pair.slice(colon + 1) };
}

/** Returns true if two texts are equal, compared in constant time whatever their lengths. */
export const constantTimeEqual = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
