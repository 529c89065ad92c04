import { randomInt } from 'node:crypto';
import { type Hashed, hashed } from '../users/password.ts';

/** Without characters that people take for one another. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz';
const SYSTEM_ID_ALPHABET = `${LETTERS}23456789`;
const PASSWORD_ALPHABET = `${LETTERS}${LETTERS.toUpperCase().replace('L', '')}23456789`;

const SYSTEM_ID_LENGTH = 12;
/** Maximum length in SMPP 3.4: 9 octets with the NUL (SMPP 3.4 §5.2.2). */
const PASSWORD_LENGTH = 8;

const randomText = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/** Generates a system_id of 12 characters, of which the field of a bind takes 15. Begins with a letter. */
export const generateSystemId = (): string =>
  randomText(LETTERS, 1) + randomText(SYSTEM_ID_ALPHABET, SYSTEM_ID_LENGTH - 1);

/**
 * Generates a password of 8 characters, with 45 random bits: enough against guesses at the port, which are limited. Its
 * hash must be slow.
 */
export const generateSmppPassword = (): string => randomText(PASSWORD_ALPHABET, PASSWORD_LENGTH);

/** Generates a password of an account and hashes it. Call it before the transaction that stores it. */
export const newSmppPassword = ({ accountId }: { readonly accountId: number }): Promise<Hashed> =>
  hashed(generateSmppPassword(), { by: accountId });
