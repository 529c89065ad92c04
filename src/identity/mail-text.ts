import { Type } from 'typebox';

/** The languages of mails: those of the console. */
export const LANGUAGES = ['en', 'it', 'es', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The field of a request that chooses the language of its mail. */
export const language = () =>
  Type.Enum([...LANGUAGES], { type: 'string', default: 'en', description: 'The language of the mail.' });

/** Joins the paragraphs of a mail. Values in them are without line breaks, so that no value can add a paragraph. */
export const paragraphs = (...texts: readonly string[]): string => `${texts.join('\n\n')}\n`;

/** Makes a name that others chose one short line. */
export const inOneLine = (name: string): string => name.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, 100);

const EMAIL = /^[a-z0-9][a-z0-9._+-]{0,63}@(?:[a-z0-9][a-z0-9-]{0,62}\.)+[a-z0-9-]{2,63}$/;

/** Returns true if a username is also an email address. Usernames are lower-case. */
export const isEmail = (username: string): boolean => username.length <= 200 && EMAIL.test(username);
