import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** A 256-bit key with a name that is not secret, so that sealed data tells which key opens it. */
export type SecretKey = { readonly id: Buffer; readonly bytes: Buffer };

const KEY_BYTES = 32;
const ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Throws when `bytes` are not 32. */
export function createSecretKey(bytes: Buffer): SecretKey {
  if (bytes.length !== KEY_BYTES) throw new Error(`a secret key has ${KEY_BYTES} bytes, not ${bytes.length}`);
  return { id: createHash('sha256').update('heliograph key id').update(bytes).digest().subarray(0, ID_BYTES), bytes };
}

/**
 * AES-256-GCM: key id (4 bytes), nonce (12, random), ciphertext, tag (16). `aad` names the place where it is kept
 * (table, column and row): the same bytes moved to another place do not open.
 */
export function seal(key: SecretKey, plaintext: string | Uint8Array, aad: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce).setAAD(Buffer.from(aad));
  const plain = typeof plaintext === 'string' ? Buffer.from(plaintext) : plaintext;
  return Buffer.concat([key.id, nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/**
 * What was sealed. Throws when it was sealed with another key (the message says so: SECRET_KEY was changed), for
 * another place, or was altered.
 */
export function open(key: SecretKey, sealed: Uint8Array, aad: string): Buffer {
  const box = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  if (box.length < ID_BYTES + NONCE_BYTES + TAG_BYTES) throw new Error('the sealed value is cut short');
  if (!box.subarray(0, ID_BYTES).equals(key.id)) {
    throw new Error('the value was sealed with another key: restore the earlier SECRET_KEY, or set the secret anew');
  }
  const nonce = box.subarray(ID_BYTES, ID_BYTES + NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(aad)).setAuthTag(box.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(box.subarray(ID_BYTES + NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
}
