import { type Static, Type } from 'typebox';
import { updateHasOptOuts } from '../accounts/accounts.ts';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { as, columns, type Db, exec, many, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { type FieldError, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { orNull } from '../core/schema.ts';
import { senderKey } from './consent.ts';
import { type OwnWords, SAYINGS, type Said, type Saying, saidIn, wordIn } from './consent-words.ts';

const says = Type.Enum([...SAYINGS], { type: 'string' });
const language = Type.String({
  pattern: '^(\\*|[a-z]{2,3})$',
  description: 'ISO 639 code; `*`: any.',
  'x-message': 'must be a language such as en, or *',
});
const sender = Type.Optional(
  Type.String({ minLength: 1, maxLength: 64, description: 'The number, agent or phoneNumberId. Omitted: every one.' }),
);

const Word = Type.Object({
  says,
  word: Type.String({ minLength: 1, maxLength: 80, description: 'The whole message, in any case.' }),
  language,
  sender,
});
const Answer = Type.Object({
  to: says,
  language: Type.String({ ...language, description: 'The language of the word that it answers; `*`: any other.' }),
  text: Type.String({ minLength: 1, maxLength: 480 }),
  sender,
});

const fields = {
  scope: Type.Enum(['account', 'sender'], {
    type: 'string',
    description: 'A STOP holds for the whole account, or only for the sender that it was sent to.',
  }),
  revokeAll: orNull(
    Type.Boolean({
      description:
        'A STOP ends all marketing of the account, on all channels and from all senders. Null: for numbers in North America from ' +
        '31 January 2027 on.',
    }),
  ),
  otpAfterStop: Type.Boolean({ description: 'Messages with the purpose `otp` are sent even after a STOP.' }),
  requireOptIn: Type.Boolean({ description: 'Marketing needs an OPTED_IN record; it is rejected without.' }),
  words: Type.Array(Word, { maxItems: 200, description: 'Your own words, next to those that are always understood.' }),
  answers: Type.Array(Answer, {
    maxItems: 100,
    description:
      'Answers to these words: one for each person, sender and kind of word in 24 hours, within five minutes. Priced like ' +
      'other messages. The answer to a STOP may hold no link.',
  }),
};
const SettingsOut = Type.Object(fields);
const SettingsIn = Type.Partial(SettingsOut);
export type ConsentSettings = Static<typeof SettingsOut>;

const DEFAULTS: ConsentSettings = {
  scope: 'account',
  revokeAll: null,
  otpAfterStop: false,
  requireOptIn: false,
  words: [],
  answers: [],
};

const PATH = '/api/partner-gateway/v1/consent/settings';
const tags = ['Account'];

/** Registers the routes for what an account has set about consent. */
export function consentSettingsRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(PATH, {
    onRequest: requireScope('contacts'),
    schema: {
      tags,
      operationId: 'getConsentSettings',
      summary: 'Get the settings for consent',
      response: { 200: SettingsOut },
    },
    handler: ({ actor }) => findSettings(tenant(pool, actor), actor),
  });

  app.put(PATH, {
    onRequest: requireScope('keys'),
    schema: {
      tags,
      operationId: 'putConsentSettings',
      summary: 'Change the settings for consent',
      description: 'Omitted fields are unchanged. For admins, and keys with the scope `keys`.',
      body: withExamples(SettingsIn, {
        words: [{ says: 'STOP', word: 'non più', language: 'it' }],
        answers: [
          { to: 'STOP', language: '*', text: 'Acme: you will get no more messages. Reply START to get them again.' },
          { to: 'HELP', language: '*', text: 'Acme offers. Questions? +39 02 1234567' },
        ],
      }),
      response: { 200: SettingsOut },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => changeSettings(tx, actor, body)),
  });
}

async function changeSettings(tx: Db, author: Author, patch: Static<typeof SettingsIn>): Promise<ConsentSettings> {
  const { accountId } = author;
  const settings = { ...(await findSettings(tx, { accountId })), ...knownOf(patch) };
  const faults = [...faultsOfWords(settings.words), ...faultsOfAnswers(settings.answers)];
  if (faults.length > 0) throw invalidFields(faults);
  await storeSettings(tx, { accountId, ...settings });
  // Sends ask about recipients from now on.
  if (settings.requireOptIn) await updateHasOptOuts(tx, { accountIds: [accountId] });
  const { scope, revokeAll, otpAfterStop, requireOptIn, words, answers } = settings;
  const detail = { scope, revokeAll, otpAfterStop, requireOptIn, words: words.length, answers: answers.length };
  await recordAudit(tx, author, { action: 'consent.settings', subject: `account:${accountId}`, detail });
  return settings;
}

/** The given fields alone, with words and answers as they are stored. */
const knownOf = ({ words, answers, ...rest }: Static<typeof SettingsIn>): Partial<ConsentSettings> => ({
  ...Object.fromEntries(Object.entries(rest).filter(([name]) => name in DEFAULTS)),
  ...(words && {
    words: words.map(({ says, word, language, sender }) => ({ says, word, language, ...keyed(sender) })),
  }),
  ...(answers && {
    answers: answers.map(({ to, language, text, sender }) => ({ to, language, text, ...keyed(sender) })),
  }),
});
const keyed = (sender: string | undefined) => sender !== undefined && { sender: senderKey(sender) };

/** A word says one thing, everywhere: people do not know which sender belongs to which list. */
function faultsOfWords(words: ConsentSettings['words']): FieldError[] {
  const meanings = new Map<string, Saying>();
  return words.flatMap(({ says, word }, i) => {
    const plain = wordIn(word) ?? '';
    const field = `words.${i}.word`;
    if (plain === '') return [{ field, message: 'has no letters' }];
    const known = meanings.get(plain) ?? saidIn(word)?.says ?? says;
    meanings.set(plain, says);
    return known === says ? [] : [{ field, message: `means ${known} already` }];
  });
}

const LINK = /https?:|www\.|\b[a-z0-9-]+\.(com|net|org|io|ly|me|co|it|de|fr|es|uk)\b/i;

const faultsOfAnswers = (answers: ConsentSettings['answers']): FieldError[] => {
  const keys = answers.map(({ to, language, sender }) => `${to}/${language}/${sender ?? ''}`);
  return answers.flatMap(({ to, text }, i) => [
    ...(to === 'STOP' && LINK.test(text) ? [{ field: `answers.${i}.text`, message: 'must not hold a link' }] : []),
    ...(keys.indexOf(keys[i] ?? '') < i ? [{ field: `answers.${i}`, message: 'repeats another answer' }] : []),
  ]);
};

const SETTINGS = columns({
  accountId: as<number>('account_id'),
  scope: as<ConsentSettings['scope']>('scope'),
  revokeAll: as<boolean | null>('revoke_all'),
  otpAfterStop: as<boolean>('otp_after_stop'),
  requireOptIn: as<boolean>('require_opt_in'),
  words: as<ConsentSettings['words']>('words'),
  answers: as<ConsentSettings['answers']>('answers'),
});

const listSettings = (db: Db, accountIds: readonly number[]): Promise<RowOf<typeof SETTINGS>[]> =>
  many(db, sql`SELECT ${SETTINGS} FROM consent_settings WHERE account_id = ANY(${plainArray(accountIds)}::bigint[])`);

async function findSettings(db: Db, { accountId }: { accountId: number }): Promise<ConsentSettings> {
  const [found] = await listSettings(db, [accountId]);
  if (!found) return DEFAULTS;
  const { accountId: _, ...settings } = found;
  return settings;
}

const storeSettings = (db: Db, row: { readonly accountId: number } & ConsentSettings): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO consent_settings (account_id, scope, revoke_all, otp_after_stop, require_opt_in, words, answers)
        VALUES (${row.accountId}, ${row.scope}, ${row.revokeAll}, ${row.otpAfterStop}, ${row.requireOptIn},
          ${JSON.stringify(row.words)}::jsonb, ${JSON.stringify(row.answers)}::jsonb)
        ON CONFLICT (account_id) DO UPDATE SET scope = excluded.scope, revoke_all = excluded.revoke_all,
          otp_after_stop = excluded.otp_after_stop, require_opt_in = excluded.require_opt_in, words = excluded.words,
          answers = excluded.answers`,
  );

/** The settings of some accounts; an account without any has the defaults. */
export type SettingsOf = (accountId: number) => ConsentSettings;

export async function loadConsentSettings(db: Db, accountIds: readonly number[]): Promise<SettingsOf> {
  const distinct = [...new Set(accountIds)];
  const rows = distinct.length === 0 ? [] : await listSettings(db, distinct);
  const found = new Map(rows.map((row) => [row.accountId, row]));
  return (accountId) => found.get(accountId) ?? DEFAULTS;
}

const isFor = (own: { readonly sender?: string | undefined }, to: string): boolean =>
  own.sender === undefined || own.sender === senderKey(to);

/** Returns the account's own words at one of its senders. */
export const wordsAt = ({ words }: ConsentSettings, to: string): OwnWords =>
  new Map(
    words.filter((one) => isFor(one, to)).map(({ word, says, language }) => [wordIn(word) ?? '', { says, language }]),
  );

/** Returns the account's answer to a word at one of its senders: that of the sender and the language come first. */
export function answerTo({ answers }: ConsentSettings, { says, language }: Said, to: string): string | null {
  const rank = (one: ConsentSettings['answers'][number]): number =>
    (one.sender === undefined ? 0 : 2) + (one.language === '*' ? 0 : 1);
  const fitting = answers.filter((one) => one.to === says && isFor(one, to) && ['*', language].includes(one.language));
  return fitting.toSorted((a, b) => rank(b) - rank(a))[0]?.text ?? null;
}

/**
 * Time from which a STOP from a North American number ends all marketing of the account, unless its settings say
 * otherwise: 47 CFR 64.1200(a)(10), the part that the Federal Communications Commission has put off until then.
 */
const REVOKES_ALL_FROM = Date.UTC(2027, 0, 31);

/** Returns true if a STOP from a number ends all marketing of the account. */
export const revokesAll = ({ revokeAll }: ConsentSettings, phoneNumber: string, now: Date): boolean =>
  revokeAll ?? (phoneNumber.startsWith('+1') && now.getTime() >= REVOKES_ALL_FROM);
