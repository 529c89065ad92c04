import { createCipheriv, createDecipheriv, createHmac, randomUUID } from 'node:crypto';
import type { Config } from '../core/config.ts';
import type { FieldError } from '../core/errors.ts';
import { foldText } from '../core/fold.ts';
import { splitPlaceholders } from '../core/schema.ts';
import type { SecretKey } from '../core/secrets.ts';

/** Path of the pages on which people decide about messages: short, because texts contain it. */
export const CONSENT_PAGES = '/c/';
/** The end of such a path: the account, by which the front of several cells finds its way, and a token of 16 bytes. */
const END = /^([1-9a-z][0-9a-z]{0,9})\.([\w-]{22})$/;
const BASE = 36;

/** Returns the path of the page behind a token. */
export const consentPath = (accountId: number, token: string): string =>
  `${CONSENT_PAGES}${accountId.toString(BASE)}.${token}`;

/** Reads the end of such a path; null if it has another form. */
export function readConsentPath(end: string): { readonly accountId: number; readonly token: string } | null {
  const [, account, token] = END.exec(end) ?? [];
  return account === undefined || token === undefined ? null : { accountId: Number.parseInt(account, BASE), token };
}

/** The placeholder of the link by which the recipient of an SMS opts out. */
const OPT_OUT = 'optout';
export const OPT_OUT_PLACEHOLDER = `{{${OPT_OUT}}}`;
/** The link in a text of a campaign whose values are filled in already: random, so that no value contains it. */
export const OPT_OUT_MARK = randomUUID();

/** Reason for which a text with the link is rejected. */
export const NO_PUBLIC_URL = 'the text has {{optout}}, whose page needs the setting PUBLIC_URL of the operator';

type Person = { readonly accountId: number; readonly phoneNumber: string };

/** Returns the link by which a person opts out; without a number one of the same length, which opts out nobody. */
export type OptOutLink = (person: Person) => string;

/** What knows the links of the installation; undefined: it has no PUBLIC_URL. */
export type OptOutLinks = { readonly optOutLink?: OptOutLink | undefined };

/** Creates the links of an installation; undefined without a PUBLIC_URL, at which no phone would reach the page. */
export function createOptOutLink(
  { publicUrl, hasPublicUrl }: Pick<Config, 'publicUrl' | 'hasPublicUrl'>,
  secretKey: SecretKey,
): OptOutLink | undefined {
  const { seal } = createOptOutTokens(secretKey);
  return hasPublicUrl ? (person) => `${publicUrl}${consentPath(person.accountId, seal(person))}` : undefined;
}

/** Bytes of the account, of the digits of the number and of zeros, by which a token is recognised. */
const [ACCOUNT_BYTES, NUMBER_BYTES, BLOCK_BYTES] = [6, 8, 16];
const PADDING = Buffer.alloc(BLOCK_BYTES - ACCOUNT_BYTES - NUMBER_BYTES);
const MAX_DIGITS = 15;

/**
 * Creates the functions that make and read tokens of opt-outs. A token is one block of AES, which as a permutation of
 * 128 bits shows nothing of the person and has no parts to change; another block has the zeros and a number of up to 15
 * digits with a chance of 1 in 2^30, and an account that exists with less. Nothing is stored, so a campaign costs no
 * row for each recipient, and a link stays valid as long as SECRET_KEY.
 */
export function createOptOutTokens(secretKey: SecretKey) {
  const key = createHmac('sha256', secretKey.bytes).update('opt-out links').digest().subarray(0, BLOCK_BYTES);
  return {
    seal({ accountId, phoneNumber }: Person): string {
      const block = Buffer.concat([Buffer.alloc(ACCOUNT_BYTES + NUMBER_BYTES), PADDING]);
      block.writeUIntBE(accountId, 0, ACCOUNT_BYTES);
      block.writeBigUInt64BE(BigInt(phoneNumber.replace(/\D/g, '')), ACCOUNT_BYTES);
      return createCipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(block).toString('base64url');
    },
    /** Returns the person of a token; null for anything else. */
    open(token: string): Person | null {
      const sealed = Buffer.from(token, 'base64url');
      // Two texts may stand for the same bytes: only one is a token.
      if (sealed.length !== BLOCK_BYTES || sealed.toString('base64url') !== token) return null;
      const block = createDecipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(sealed);
      const digits = block.readBigUInt64BE(ACCOUNT_BYTES).toString();
      const isToken = block.subarray(-PADDING.length).equals(PADDING) && digits !== '0' && digits.length <= MAX_DIGITS;
      return isToken ? { accountId: block.readUIntBE(0, ACCOUNT_BYTES), phoneNumber: `+${digits}` } : null;
    },
  };
}

/** Returns true if a placeholder has the name of the link, in any case of letters. */
export const isOptOut = (name: string): boolean => foldText(name) === OPT_OUT;

/** Returns true if a text has the placeholder of the link. */
export const asksOptOut = (text: string): boolean =>
  text.includes('{{') &&
  splitPlaceholders(text, { defaults: true }).some((part) => typeof part !== 'string' && isOptOut(part.name));

/** Lists the fault of a text that has the link, in an installation without any. */
export const optOutFault = (field: string, text: string | null, { optOutLink }: OptOutLinks): FieldError[] =>
  text !== null && asksOptOut(text) && !optOutLink ? [{ field, message: NO_PUBLIC_URL }] : [];

/** Replaces the placeholder of the link in a text. */
export const withOptOut = (text: string, link: string): string =>
  splitPlaceholders(text, { defaults: true })
    .map((part) => (typeof part === 'string' ? part : isOptOut(part.name) ? link : part.whole))
    .join('');
