import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

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
