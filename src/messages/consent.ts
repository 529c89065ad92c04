import { type Command, Option } from 'commander';
import { findAccount, updateHasOptOuts } from '../accounts/accounts.ts';
import { type Author, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import { CHANNEL, CHANNELS, type Channel, type Purpose } from '../core/channels.ts';
import { type CommandContext, table } from '../core/cli.ts';
import { bigint, insertRows, rowsOf, text } from '../core/db/columns.ts';
import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import { groupCommit, transaction } from '../core/db/transaction.ts';
import { invalidFields } from '../core/errors.ts';
import { foldText } from '../core/fold.ts';
import {
  DEFAULT_NUMBER_RULES,
  isUserId,
  type NumberRules,
  personOf,
  type ReadNumber,
  readNumber,
  toE164,
} from '../core/phone.ts';
import { publishFacts } from '../webhooks/outbox.ts';
import { underOtherAddresses } from './person-aliases.ts';

/** The purpose of messages that people can stop alone; `*` stands for all messages. */
export type StoppedPurpose = '*' | Extract<Purpose, 'marketing'>;

/** Returns true if a number, in E.164, has opted out of messages on a channel: of all of them, or of one purpose. */
export type IsOptedOut = (channel: Channel, phoneNumber: string, purpose?: StoppedPurpose) => boolean;
type Sender = Pick<Actor, 'accountId' | 'hasOptOuts'> & Partial<Pick<Actor, 'numberRules'>>;

/** A message to a number: as its client wrote it or, if `isKnownNumber`, in E.164. */
type Destined = { readonly channel: Channel; readonly destination: string; readonly isKnownNumber?: boolean };

/**
 * Returns the recipient of a message: a number or, on WhatsApp, the user id of a person without a visible number, which
 * is unchanged.
 */
export const readDestination = ({ channel, destination, isKnownNumber }: Destined, rules: NumberRules): ReadNumber =>
  isKnownNumber || (CHANNEL[channel].userIds && isUserId(destination))
    ? { e164: destination }
    : readNumber(destination, rules);

const nobody: IsOptedOut = () => false;

/**
 * Creates a function that looks up which destinations of an account have opted out. Concurrent requests share one
 * statement. An account without any opt-out ever, according to its credentials (`hasOptOuts`), needs none.
 */
export function createConsentCheck(db: Db): (sender: Sender, to: readonly Destined[]) => Promise<IsOptedOut> {
  const find = groupCommit<readonly Consent[], ReadonlySet<string>>({
    maxItems: 200,
    async flush(asked) {
      const rows = new Map(asked.flat().map((row) => [keyOf(row), row]));
      const found = new Set((await listOptedOut(db, [...rows.values()])).map((row) => `${keyOf(row)}/${row.purpose}`));
      return asked.map(() => found);
    },
  });
  return async ({ accountId, hasOptOuts, numberRules = DEFAULT_NUMBER_RULES }, to) => {
    if (hasOptOuts === false) return nobody;
    const rows = to.flatMap((message) => {
      const read = readDestination(message, numberRules);
      return 'fault' in read ? [] : [{ accountId, channel: message.channel, phoneNumber: read.e164 }];
    });
    if (rows.length === 0) return nobody;
    const found = await find(rows);
    return (channel, phoneNumber, purpose = '*') =>
      found.has(`${keyOf({ accountId, channel, phoneNumber })}/${purpose}`);
  };
}

const keyOf = ({ accountId, phoneNumber, channel }: Consent): string =>
  `${accountId}/${personOf(phoneNumber)}/${channel}`;

/** Consent to further messages, as expressed by a message from a handset. */
type ConsentWord = 'stop' | 'start';

/**
 * Words that must be the whole message but for courtesies, by language, as `foldText` returns them. `STOP` and `START`
 * are understood in every language.
 */
const STOP_WORDS: Readonly<Record<string, string>> = {
  en: 'stop, stopall, stop all, unsubscribe, cancel, end, quit, opt out, optout, revoke',
  it: 'ferma, fermati, basta, disiscrivi, disiscrivimi, cancellami, cancella',
  es: 'alto, parar, pare, baja, cancelar, darse de baja, dar de baja',
  pt: 'parar, pare, sair, cancelar, remover, descadastrar',
  fr: 'arret, arrêt, arreter, arrêter, desabonner, désabonner, desinscription, désinscription',
  de: 'stopp, halt, abmelden, abbestellen, ende, kündigen, kuendigen',
  nl: 'stoppen, afmelden, uitschrijven',
  pl: 'koniec, rezygnuję, rezygnuje, wypisz',
  sv: 'stopp, avsluta, sluta, avregistrera',
  da: 'afmeld, afmelding',
  no: 'avmeld, slutt',
  fi: 'lopeta, peruuta, peru',
  cs: 'zrušit, zrusit, odhlásit, odhlasit, konec',
  sk: 'zrušiť, odhlásiť, koniec',
  hu: 'leiratkozás, leiratkozas, leiratkozom, lemondás',
  ro: 'dezabonare, oprește, opreste, renunț',
  hr: 'odjava, prekini, otkaži',
  el: 'στοπ, διακοπή, διακοπη',
  bg: 'стоп, спри, отказ',
  ru: 'стоп, отписаться, отписка, отмена',
  uk: 'стоп, відписатися',
  tr: 'dur, durdur, iptal, ret',
  he: 'הסר, הסירו, הסרה, עצור, עצרו',
  ar: 'توقف, إيقاف, ايقاف, الغاء, إلغاء, إلغاء الاشتراك',
  fa: 'لغو, توقف, انصراف',
  ur: 'بند, بند کریں, روکیں',
  hi: 'रोकें, रोको, बंद, बंद करें',
  bn: 'বন্ধ, বন্ধ করুন, থামুন',
  id: 'berhenti, batal, batalkan',
  vi: 'dừng, dừng lại, hủy, huỷ, từ chối',
  th: 'หยุด, ยกเลิก',
  zh: '停止, 退订, 退訂, 取消, 取消订阅, 取消訂閱, td',
  ja: '停止, 配信停止, 中止, 解除, ストップ',
  ko: '중지, 정지, 거부, 수신거부, 수신 거부, 스톱',
  sw: 'acha, komesha, simamisha',
  tl: 'itigil, ihinto',
};
const START_WORDS: Readonly<Record<string, string>> = {
  en: 'start, unstop, subscribe, opt in, optin',
  it: 'inizia, riprendi, iscrivimi',
  es: 'iniciar, empezar, alta, suscribir',
  pt: 'iniciar, começar, comecar, voltar',
  fr: "demarrer, démarrer, reprendre, s'abonner",
  de: 'starten, anmelden',
  nl: 'starten, aanmelden',
  pl: 'zapisz',
  sv: 'starta',
  da: 'tilmeld',
  fi: 'aloita',
  cs: 'začít, zacit, přihlásit, prihlasit',
  hu: 'feliratkozás, feliratkozom',
  ro: 'abonare',
  el: 'έναρξη, εναρξη',
  bg: 'старт',
  ru: 'старт, подписаться',
  uk: 'старт, підписатися',
  tr: 'başla, basla',
  he: 'התחל, הצטרף',
  ar: 'ابدأ, اشتراك',
  fa: 'شروع',
  hi: 'शुरू, शुरू करें',
  id: 'mulai',
  vi: 'bắt đầu',
  th: 'เริ่ม',
  zh: '开始, 開始, 订阅, 訂閱',
  ja: '開始, 再開, スタート',
  ko: '시작',
};
/** Courtesies before or after a word, which do not change what it says. */
const COURTESIES =
  "please, pls, plz, thank you, thanks, thx, ty, per favore, grazie, por favor, gracias, obrigado, obrigada, s'il vous " +
  "plaît, s'il vous plait, svp, stp, merci, bitte, danke, alstublieft, alsjeblieft, bedankt, dank u, proszę, prosze, " +
  'dziękuję, dziekuje, tack, tak, takk, kiitos, prosím, prosim, děkuji, dekuji, ďakujem, köszönöm, vă rog, mulțumesc, ' +
  'hvala, παρακαλώ, παρακαλω, ευχαριστώ, ευχαριστω, моля, благодаря, пожалуйста, спасибо, будь ласка, дякую, lütfen, ' +
  'lutfen, teşekkürler, tesekkurler, teşekkür ederim, בבקשה, תודה, من فضلك, لو سمحت, شكرا, لطفا, متشکرم, براہ کرم, ' +
  'شکریہ, कृपया, धन्यवाद, দয়া করে, ধন্যবাদ, tolong, terima kasih, làm ơn, cảm ơn, กรุณา, ขอบคุณ, 请, 請, 谢谢, 謝謝, ' +
  'お願いします, ありがとう, 감사합니다, 부탁드립니다, tafadhali, asante, salamat';

const listOf = (words: string): string[] => words.split(', ').map(foldText);

const WORDS: ReadonlyMap<string, ConsentWord> = new Map(
  [[START_WORDS, 'start'] as const, [STOP_WORDS, 'stop'] as const].flatMap(([languages, meaning]) =>
    Object.values(languages).flatMap((words) => listOf(words).map((word) => [word, meaning] as const)),
  ),
);

const escaped = listOf(COURTESIES)
  .toSorted((a, b) => b.length - a.length)
  .join('|');
const COURTESY_BEFORE = new RegExp(`^(?:${escaped}) `);
const COURTESY_AFTER = new RegExp(` (?:${escaped})$`);

/** Longer messages say more than a word. */
const MAX_CONSENT_LENGTH = 80;
/** Matches from the first letter to the last: quotes, dots and exclamation marks around the words are not part of it. */
const LETTERS = /\p{L}(?:.*[\p{L}\p{M}])?/su;
/** Separators between words; each run counts as one space. */
const BETWEEN_WORDS = /[^\p{L}\p{M}\p{N}']+/gu;

/**
 * Returns the consent that a message expresses, or null. A message that merely contains one of the words ("when does
 * the sale end?") expresses none; courtesies ("Stop. Thank you") and repetitions ("STOP STOP") add nothing to it.
 */
export function consentWordOf(text: string): ConsentWord | null {
  if (text.length > MAX_CONSENT_LENGTH) return null;
  const [letters = ''] = LETTERS.exec(foldText(text).replaceAll('’', "'")) ?? [];
  let said = letters.replace(BETWEEN_WORDS, ' ');
  for (let shorter = withoutCourtesy(said); shorter !== said; shorter = withoutCourtesy(said)) said = shorter;
  const known = WORDS.get(said);
  if (known !== undefined) return known;
  const [first = '', ...others] = said.split(' ');
  return others.every((word) => word === first) ? (WORDS.get(first) ?? null) : null;
}

const withoutCourtesy = (said: string): string => said.replace(COURTESY_BEFORE, '').replace(COURTESY_AFTER, '');

const SHOWN = 10_000;

/** `consent list`, `consent out` and `consent in`. */
export function registerConsentCommands(program: Command, context: CommandContext): void {
  const consent = program.command('consent').description('opt-outs: numbers that do not want messages from an account');

  consent
    .command('list')
    .argument('<account>', 'name or id')
    .description(`list the first ${SHOWN} opt-outs of an account, by number`)
    .action(async (reference: string) => {
      const rows = await context.withDatabase(async (pool) => {
        const { id: accountId } = await findAccount(pool, { reference });
        return listOptOuts(pool, { accountId, limit: SHOWN });
      });
      context.report(rows, showOptOuts);
    });

  addCommand(consent, context, 'out', 'reject sends of an account to a number');
  addCommand(consent, context, 'in', 'allow an account to send to a number again');
}

function addCommand(consent: Command, context: CommandContext, way: 'in' | 'out', description: string): void {
  consent
    .command(way)
    .argument('<account>', 'name or id')
    .argument('<number>', 'with its country code; on WhatsApp also a user id')
    .addOption(new Option('--channel <channel>', 'a single channel; default: all').choices(CHANNELS))
    .description(description)
    .action(async (account: string, number: string, { channel }: { channel?: Channel }) =>
      context.report(
        await change(context, way, { account, number, channels: channel ? [channel] : CHANNELS }),
        ({ phoneNumber, changed }) =>
          changed.length === 0
            ? `${phoneNumber}: nothing to change.`
            : `${phoneNumber}: opted ${way} of ${changed.join(', ')}.`,
      ),
    );
}

type Input = { readonly account: string; readonly number: string; readonly channels: readonly Channel[] };

function change(context: CommandContext, way: 'in' | 'out', { account, number, channels }: Input) {
  const phoneNumber = isUserId(number) ? number : toE164(number);
  if (phoneNumber === null)
    throw invalidFields([{ field: 'number', message: 'must be a number with its country code' }]);
  return context.withDatabase((pool) =>
    transaction(pool, async (tx) => {
      const { id: accountId } = await findAccount(tx, { reference: account });
      const rows = channels.map((channel) => ({ accountId, phoneNumber, channel, source: 'OPERATOR' as const }));
      const changed = (await (way === 'out' ? optOut(tx, rows) : optIn(tx, rows))).map((row) => row.channel).sort();
      const event = { action: `consent.${way}`, subject: `number:${phoneNumber}`, detail: { channels: changed } };
      await recordAudit(tx, operatorAuthor(accountId), event);
      return { accountId, phoneNumber, changed };
    }),
  );
}

const showOptOuts = (rows: readonly OptOutRow[]): string =>
  table(
    ['NUMBER', 'CHANNEL', 'SOURCE', 'SINCE'],
    rows.map(({ phoneNumber, channel, source, createdAt }) => [phoneNumber, channel, source, createdAt.toISOString()]),
  );

/** Origin of an opt-out: a STOP message, the account, the operator, or an imported file. */
type OptOutSource = 'STOP' | 'API' | 'OPERATOR' | 'IMPORT';

/** A number on a channel, for one account. */
type Consent = { readonly accountId: number; readonly phoneNumber: string; readonly channel: Channel };
/** An opt-out of a number on a channel, with its origin. */
export type OptOut = Consent & { readonly source: OptOutSource };

const keyColumns = {
  account_id: bigint((r: Consent) => r.accountId),
  person: text((r: Consent) => personOf(r.phoneNumber)),
  channel: text((r: Consent) => r.channel),
};

const CONSENT = columns({
  accountId: as<number>('o.account_id'),
  phoneNumber: as<string>('o.phone_number'),
  channel: as<Channel>('o.channel'),
});

/**
 * Stores opt-outs. An existing one keeps its source and time. Returns the new ones. A person may occur once a channel.
 */
export const insertOptOuts = (db: Db, rows: readonly OptOut[]): Promise<Consent[]> =>
  many(
    db,
    sql`${insertRows('opt_out AS o', rows, { accountId: bigint, phoneNumber: text, channel: text, source: text })}
        ORDER BY u.account_id, person_of(u.phone_number), u.channel
        ON CONFLICT (account_id, person, channel) DO NOTHING
        RETURNING ${CONSENT}`,
  );

/** Deletes opt-outs, and those of single purposes. Returns the former that existed. */
const deleteOptOuts = (db: Db, rows: readonly Consent[]): Promise<Consent[]> =>
  many(
    db,
    sql`WITH purposes AS (
          DELETE FROM purpose_opt_out o USING ${rowsOf(rows, keyColumns)} AS u
          WHERE o.account_id = u.account_id AND o.person = u.person AND o.channel = u.channel)
        DELETE FROM opt_out o USING ${rowsOf(rows, keyColumns)} AS u
        WHERE o.account_id = u.account_id AND o.person = u.person AND o.channel = u.channel
        RETURNING ${CONSENT}`,
  );

const OPTED_OUT = columns({
  accountId: as<number>('u.account_id'),
  phoneNumber: as<string>('u.person'),
  channel: as<Channel>('u.channel'),
  purpose: as<StoppedPurpose>('o.purpose'),
});

const ON_PERSON = sql`o.account_id = u.account_id AND o.person = u.person AND o.channel = u.channel`;

/** Lists those of these persons, of any accounts, who have opted out, with the purpose. */
const listOptedOut = (db: Db, rows: readonly Consent[]): Promise<RowOf<typeof OPTED_OUT>[]> => {
  const asked = rowsOf(rows, keyColumns);
  const all = sql`SELECT ${OPTED_OUT} FROM ${asked} AS u JOIN (SELECT *, '*' AS purpose FROM opt_out) AS o ON ${ON_PERSON}`;
  // Only WhatsApp has a button that stops a purpose.
  const hasPurposes = rows.some(({ channel }) => channel === 'WHATSAPP');
  return many(
    db,
    hasPurposes
      ? sql`${all} UNION ALL SELECT ${OPTED_OUT} FROM ${asked} AS u JOIN purpose_opt_out o ON ${ON_PERSON}`
      : all,
  );
};

const OPT_OUT = columns({
  phoneNumber: as<string>('phone_number'),
  channel: as<Channel>('channel'),
  source: as<OptOutSource | 'NETWORK'>('source'),
  createdAt: as<Date>('created_at'),
});
const PURPOSE = columns({ purpose: as<StoppedPurpose>('purpose') });
/** An opt-out as an account sees it. */
type OptOutRow = RowOf<typeof OPT_OUT>;

/** Lists the opt-outs of one number, by channel: those of all messages, then those of one purpose. */
export const listOptOutsOf = (
  db: Db,
  { accountId, phoneNumber }: { accountId: number; phoneNumber: string },
): Promise<(OptOutRow & RowOf<typeof PURPOSE>)[]> =>
  many(
    db,
    sql`SELECT ${OPT_OUT}, ${PURPOSE}
        FROM (SELECT account_id, person, phone_number, channel, source, created_at, '*' AS purpose FROM opt_out
              UNION ALL
              SELECT account_id, person, phone_number, channel, source, created_at, purpose FROM purpose_opt_out) AS o
        WHERE account_id = ${accountId} AND person = ${personOf(phoneNumber)} ORDER BY channel, purpose`,
  );

/** Lists the first `limit` opt-outs of an account, by number. */
export const listOptOuts = (db: Db, { accountId, limit }: { accountId: number; limit: number }): Promise<OptOutRow[]> =>
  many(
    db,
    sql`SELECT ${OPT_OUT} FROM opt_out
        WHERE account_id = ${accountId} ORDER BY phone_number, channel LIMIT ${limit}`,
  );

/**
 * Records opt-outs of numbers from channels, in the caller's transaction: sends to them, and to the other addresses of
 * the persons, are rejected once it is committed. An existing opt-out keeps its source and time. Returns the new ones.
 */
export async function optOut(tx: Db, rows: readonly OptOut[]): Promise<Consent[]> {
  if (rows.length === 0) return [];
  const asked = new Map(rows.map((row) => [keyOf(row), row]));
  const others = await underOtherAddresses(tx, [...asked.values()]);
  const all = new Map([...others.map((row) => [keyOf(row), row] as const), ...asked]);
  const added = await insertOptOuts(tx, [...all.values()]);
  const accountIds = [...new Set(rows.map((row) => row.accountId))].sort((a, b) => a - b);
  await updateHasOptOuts(tx, { accountIds });
  const changed = added.filter((row) => asked.has(keyOf(row)));
  await publishConsent(tx, changed, 'OPTED_OUT');
  return changed;
}

/**
 * Removes opt-outs, whatever their origin, in the caller's transaction, also under the other addresses of the persons.
 * Returns those of the given numbers that existed.
 */
export async function optIn(tx: Db, rows: readonly Consent[]): Promise<Consent[]> {
  if (rows.length === 0) return [];
  const asked = new Set(rows.map(keyOf));
  const removed = await deleteOptOuts(tx, [...rows, ...(await underOtherAddresses(tx, rows))]);
  const changed = removed.filter((row) => asked.has(keyOf(row)));
  await publishConsent(tx, changed, 'OPTED_IN');
  return changed;
}

const publishConsent = (tx: Db, changed: readonly Consent[], state: 'OPTED_OUT' | 'OPTED_IN'): Promise<void> =>
  publishFacts(
    tx,
    changed.map(({ accountId, phoneNumber, channel }) => ({
      accountId,
      type: 'consent.changed',
      about: phoneNumber,
      data: { phoneNumber, channel, state },
    })),
  );

/**
 * Opts a number out of exactly these channels and into all others. Changes are recorded in the audit log. Call it in a
 * transaction.
 */
export async function setOptOuts(
  tx: Db,
  author: Author,
  input: { phoneNumber: string; channels: readonly Channel[]; source: OptOutSource },
): Promise<void> {
  const { phoneNumber, channels, source } = input;
  const { accountId } = author;
  const rows = await listOptOutsOf(tx, { accountId, phoneNumber });
  const current = rows.filter(({ purpose }) => purpose === '*').map((row) => row.channel);
  const out = channels.filter((channel) => !current.includes(channel));
  const back = current.filter((channel) => !channels.includes(channel));
  if (out.length + back.length === 0) return;
  await optOut(
    tx,
    out.map((channel) => ({ accountId, phoneNumber, channel, source })),
  );
  await optIn(
    tx,
    back.map((channel) => ({ accountId, phoneNumber, channel })),
  );
  const detail = { optedOut: out, optedIn: back };
  await recordAudit(tx, author, { action: 'consent.update', subject: `number:${phoneNumber}`, detail });
}

/** A text from a handset; `source` is the number as the carrier writes it. */
export type InboundText = {
  readonly accountId: number;
  readonly channel: Channel;
  readonly source: string;
  readonly body: string;
};

/**
 * Applies STOP and START in the transaction that stores the messages. If one number sent several, the last one counts.
 * Other messages cost an in-memory look-up.
 */
export async function applyConsentWords(tx: Db, messages: readonly InboundText[]): Promise<void> {
  const last = new Map<string, { row: Consent; word: ConsentWord }>();
  for (const message of messages) {
    const word = consentWordOf(message.body);
    const phoneNumber = word && numberOf(message);
    if (word === null || phoneNumber === null) continue;
    const row = { accountId: message.accountId, phoneNumber, channel: message.channel };
    last.set(keyOf(row), { row, word });
  }
  const rows = (wanted: ConsentWord) => [...last.values()].flatMap(({ row, word }) => (word === wanted ? [row] : []));
  await optOut(
    tx,
    rows('stop').map((row) => ({ ...row, source: 'STOP' as const })),
  );
  await optIn(tx, rows('start'));
}

/**
 * Returns the number of a person in E.164, or the user id of a person without a visible number; null for anything else.
 */
export const numberOf = ({ channel, source }: Pick<InboundText, 'channel' | 'source'>): string | null =>
  toE164(source) ?? (CHANNEL[channel].userIds && isUserId(source) ? source : null);
