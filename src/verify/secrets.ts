import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import type { SecretKey } from '../core/secrets.ts';

/** The characters of codes: digits, or capitals and digits that cannot be taken for one another. */
export const ALPHABETS = { digits: '0123456789', letters: 'BCDFGHJKLMNPQRSTVWXZ23456789' } as const;
export type Alphabet = keyof typeof ALPHABETS;

/** Makes a code of uniformly distributed characters that is none of `taken`. */
export function makeCode(length: number, alphabet: Alphabet, taken: readonly string[] = []): string {
  const characters = ALPHABETS[alphabet];
  for (;;) {
    const code = Array.from({ length }, () => characters[randomInt(characters.length)]).join('');
    if (!taken.includes(code)) return code;
  }
}

/** Returns a code as people type it without spaces and hyphens, in capitals. */
const cleanCode = (typed: string): string => typed.replace(/[\s-]/g, '').toUpperCase();

/**
 * Returns the hash under which the code of a verification is stored: the id of the key, and an HMAC-SHA-256 of the
 * verification and the code. Without the key, which is not in the database, a hash cannot be tried against all codes.
 */
export function hashCode(key: SecretKey, verificationId: string, code: string): Buffer {
  const pepper = createHmac('sha256', key.bytes).update('verification code').digest();
  return Buffer.concat([
    key.id,
    createHmac('sha256', pepper)
      .update(`${verificationId}\0${cleanCode(code)}`)
      .digest(),
  ]);
}

const NO_HASH = Buffer.alloc(36);

/**
 * Returns true if this is the code of the verification. Takes the same time for right and wrong codes, and for
 * verifications that do not exist (`stored` undefined).
 */
export function isCode(
  key: SecretKey,
  verificationId: string,
  code: string,
  stored: Buffer | null | undefined,
): boolean {
  const hash = hashCode(key, verificationId, code);
  const isSame = timingSafeEqual(hash, stored?.length === hash.length ? stored : NO_HASH);
  return isSame && Boolean(stored);
}

/** Validity of a challenge and of its proof. */
const CHALLENGE_MS = 10 * 60_000;

/**
 * A token for a client who has to pass a captcha: time and number, signed with the service's secret. The client's server
 * signs it again as the proof (`challengeProof`), so that a browser alone cannot claim to have passed.
 */
export function challengeToken(secret: Buffer, number: string, at: Date): string {
  const time = at.getTime().toString(36);
  return `${time}.${sign(secret, `challenge\0${time}\0${number}`)}`;
}

/** Returns the proof that the owner of the service makes for a token: hex HMAC-SHA-256 with the challenge secret. */
export const challengeProof = (secret: Buffer, token: string): string => sign(secret, `passed\0${token}`);

/** Returns true if a proof `TOKEN:PROOF` is for this number and not older than ten minutes. */
export function isChallengePassed(secret: Buffer, number: string, passed: string, now: Date): boolean {
  const [token = '', proof = ''] = passed.split(':');
  const at = Number.parseInt(token.split('.', 1)[0] ?? '', 36);
  const isFresh = Math.abs(now.getTime() - at) <= CHALLENGE_MS;
  return (
    isFresh &&
    isEqual(token, challengeToken(secret, number, new Date(at))) &&
    isEqual(proof, challengeProof(secret, token))
  );
}

const sign = (secret: Buffer, text: string): string => createHmac('sha256', secret).update(text).digest('hex');

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
