import { type Command, Option } from 'commander';
import { findAccount, updateHasOptOuts } from '../accounts/accounts.ts';
import { type Author, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import { CHANNEL, CHANNELS, type Channel, type Purpose } from '../core/channels.ts';
import { type CommandContext, table } from '../core/cli.ts';
import { bigint, bytea, rowsOf, text, timestamptz } from '../core/db/columns.ts';
import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import { groupCommit, transaction } from '../core/db/transaction.ts';
import { invalidFields } from '../core/errors.ts';
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
import type { HashOfPerson } from './erased.ts';
import { underOtherAddresses } from './person-aliases.ts';

/** The purpose of messages to which a record applies; `*`: all of them. */
export type ConsentPurpose = '*' | Purpose;
/** What a record says; without one, nothing is known (UNKNOWN). PENDING: the person was asked to confirm. */
export type ConsentState = 'OPTED_OUT' | 'OPTED_IN' | 'PENDING';
/**
 * Origin of a record: a word from the handset (STOP, START), the button or the answer of the network, the account, the
 * operator, an imported file, a wish in other words that a person confirmed, a page, or an erasure.
 */
export type ConsentSource =
  | 'STOP'
  | 'START'
  | 'NETWORK'
  | 'API'
  | 'OPERATOR'
  | 'IMPORT'
  | 'SUSPECTED'
  | 'PAGE'
  | 'ERASURE';

type Consent = { readonly accountId: number; readonly phoneNumber: string; readonly channel: Channel };
/** Key of a record of a person. `sender`: ours, as `senderKey` returns it; `*`: any. */
type Key = { readonly purpose: ConsentPurpose; readonly sender: string };
/** A record as far as it decides. */
export type ConsentRecord = Key & { readonly state: ConsentState | 'SUSPECTED' };
/** What an account has set about consent. */
export type ConsentRules = {
  /** Codes that a person asked for are sent even after an opt-out of all messages. */
  readonly otpAfterStop: boolean;
  /** Marketing needs an opt-in. */
  readonly requireOptIn: boolean;
};
const DEFAULT_CONSENT_RULES: ConsentRules = { otpAfterStop: false, requireOptIn: false };

/** A message as far as consent depends on it. */
export type Asked = { readonly purpose: Purpose | null; readonly sender: string };
/** Reason why a person must not get a message. */
export type ConsentFault = 'opted_out' | 'marketing_stopped' | 'stop_suspected' | 'not_opted_in';

/**
 * Returns why a message must not be sent, by the records of its recipient on its channel; null: it may. An opt-out that
 * applies beats every opt-in, however specific.
 */
function consentFault(
  records: readonly ConsentRecord[],
  { purpose, sender }: Asked,
  { otpAfterStop, requireOptIn }: ConsentRules,
): ConsentFault | null {
  const has = (state: ConsentRecord['state'], of: ConsentPurpose): boolean =>
    records.some((one) => one.state === state && one.purpose === of && (one.sender === '*' || one.sender === sender));
  if (has('OPTED_OUT', '*') && !(purpose === 'otp' && otpAfterStop)) return 'opted_out';
  if (purpose !== null && has('OPTED_OUT', purpose)) return purpose === 'marketing' ? 'marketing_stopped' : 'opted_out';
  if (purpose !== 'marketing') return null;
  if (has('SUSPECTED', 'marketing')) return 'stop_suspected';
  if (has('OPTED_IN', '*') || has('OPTED_IN', 'marketing')) return null;
  // A person who was asked gets no marketing before the answer.
  return requireOptIn || has('PENDING', 'marketing') ? 'not_opted_in' : null;
}

/** Returns a sender as records name it: carriers write numbers without a plus, and names in any case. */
export const senderKey = (sender: string): string => sender.replace(/^\+/, '').toLowerCase();

/** Returns why a number, in E.164, must not get a message on a channel; null: it may. */
export type FindConsentFault = (channel: Channel, phoneNumber: string, asked?: Asked) => ConsentFault | null;
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

const ANY_MESSAGE: Asked = { purpose: null, sender: '' };
const allowed: FindConsentFault = () => null;

type Found = {
  readonly records: ReadonlyMap<string, readonly ConsentRecord[]>;
  readonly rules: ReadonlyMap<number, ConsentRules>;
};

/**
 * Creates a function that looks up what the recipients of an account's messages have said. Concurrent requests share
 * one statement. An account without any record ever, according to its credentials (`hasOptOuts`), needs none. With
 * `hashOf`, erased persons count as opted out.
 */
export function createConsentCheck(
  db: Db,
  hashOf?: HashOfPerson,
): (sender: Sender, to: readonly Destined[]) => Promise<FindConsentFault> {
  const find = groupCommit<readonly Consent[], Found>({
    maxItems: 200,
    async flush(asked) {
      const rows = new Map(asked.flat().map((row) => [keyOf(row), row]));
      const records = await listRecords(db, [...rows.values()], hashOf);
      const found = {
        records: Map.groupBy(records, keyOf),
        rules: new Map(records.flatMap(({ accountId, rules }) => (rules ? [[accountId, rules] as const] : []))),
      };
      return asked.map(() => found);
    },
  });
  return async ({ accountId, hasOptOuts, numberRules = DEFAULT_NUMBER_RULES }, to) => {
    if (hasOptOuts === false) return allowed;
    const rows = to.flatMap((message) => {
      const read = readDestination(message, numberRules);
      return 'fault' in read ? [] : [{ accountId, channel: message.channel, phoneNumber: read.e164 }];
    });
    if (rows.length === 0) return allowed;
    const { records, rules } = await find(rows);
    return (channel, phoneNumber, { purpose, sender } = ANY_MESSAGE) =>
      consentFault(
        records.get(keyOf({ accountId, channel, phoneNumber })) ?? [],
        { purpose, sender: senderKey(sender) },
        rules.get(accountId) ?? DEFAULT_CONSENT_RULES,
      );
  };
}

const keyOf = ({ accountId, phoneNumber, channel }: Consent): string =>
  `${accountId}/${personOf(phoneNumber)}/${channel}`;

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
      const rowsChanged = await (way === 'out' ? optOut(tx, rows) : optIn(tx, rows));
      const changed = [...new Set(rowsChanged.map((row) => row.channel))].sort();
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

/** An opt-out of all messages on a channel, with its origin. `sender` omitted: from every sender. */
export type OptOut = Consent & { readonly source: ConsentSource; readonly sender?: string };

/** A change of what is known about a person. UNKNOWN removes the record. */
export type ConsentChange = Consent &
  Key & {
    readonly state: ConsentState | 'UNKNOWN';
    readonly source: ConsentSource;
    /** Time of the person's choice; null: now. */
    readonly since: Date | null;
    readonly proof: object | null;
  };

const ON_PERSON = sql`c.account_id = u.account_id AND c.person = u.person AND c.channel = u.channel`;
const personColumns = {
  account_id: bigint((r: Consent) => r.accountId),
  person: text((r: Consent) => personOf(r.phoneNumber)),
  channel: text((r: Consent) => r.channel),
};

const FOUND = columns({
  accountId: as<number>('u.account_id'),
  phoneNumber: as<string>('u.person'),
  channel: as<Channel>('u.channel'),
  purpose: as<ConsentPurpose>('c.purpose'),
  sender: as<string>('c.sender'),
  state: as<ConsentRecord['state']>('c.state'),
  /** Set in the row of an account that has rules, which is about nobody. */
  rules: as<ConsentRules | null>('NULL::json'),
});

/** Hours for which a suspected wish holds marketing, while nobody decides. */
const HOLD_HOURS = 48;
/** A condition on the rows `c` of `suspected_opt_out`: marketing to the person waits for a decision. */
export const IS_HELD = sql`c.decided_at IS NULL AND c.since > now() - ${HOLD_HOURS} * interval '1 hour'`;

/** Lists what is known about these persons, of any accounts, and the rules of the accounts that have any. */
const listRecords = (db: Db, rows: readonly Consent[], hashOf?: HashOfPerson): Promise<RowOf<typeof FOUND>[]> =>
  many(
    db,
    sql`SELECT ${FOUND} FROM ${rowsOf(rows, { ...personColumns, hash: bytea((r) => hashOf?.(r) ?? null) })} AS u
        CROSS JOIN LATERAL (
          SELECT c.purpose, c.sender, c.state FROM consent c WHERE ${ON_PERSON}
          UNION ALL
          SELECT 'marketing', '*', 'SUSPECTED' FROM suspected_opt_out c WHERE ${ON_PERSON} AND ${IS_HELD}
          UNION ALL
          SELECT '*', '*', 'OPTED_OUT' FROM erased_person e WHERE e.account_id = u.account_id AND e.hash = u.hash) AS c
        UNION ALL
        SELECT account_id, '', '', '', '', '',
          json_build_object('otpAfterStop', otp_after_stop, 'requireOptIn', require_opt_in)
        FROM consent_settings
        WHERE account_id = ANY(${[...new Set(rows.map(({ accountId }) => accountId))]}::bigint[])
          AND (otp_after_stop OR require_opt_in)`,
  );

const CHANGED = columns({
  accountId: as<number>('account_id'),
  phoneNumber: as<string>('phone_number'),
  channel: as<Channel>('channel'),
  purpose: as<ConsentPurpose>('purpose'),
  sender: as<string>('sender'),
  state: as<ConsentState | 'UNKNOWN'>('state'),
  source: as<ConsentSource>('source'),
});
type Changed = RowOf<typeof CHANGED>;

const keyOfChange = (row: Consent & Key): string => `${keyOf(row)}/${row.purpose}/${row.sender}`;

/**
 * Stores changes and their history, with one statement. What is known already keeps its source and time, unless there
 * is a new proof of an opt-in. Returns what has changed. A key may occur once.
 */
const storeChanges = (tx: Db, rows: readonly ConsentChange[]): Promise<Changed[]> =>
  many(
    tx,
    sql`WITH u AS MATERIALIZED (SELECT *, person_of(phone_number) AS person, proof_text::jsonb AS proof FROM ${rowsOf(
      rows,
      {
        account_id: bigint((r) => r.accountId),
        phone_number: text((r) => r.phoneNumber),
        channel: text((r) => r.channel),
        purpose: text((r) => r.purpose),
        sender: text((r) => r.sender),
        state: text((r) => r.state),
        source: text((r) => r.source),
        since: timestamptz((r) => r.since),
        proof_text: text((r) => r.proof && JSON.stringify(r.proof)),
      },
    )} AS r),
        gone AS (
          DELETE FROM consent c USING u
          WHERE u.state = 'UNKNOWN' AND ${ON_PERSON} AND c.purpose = u.purpose AND c.sender = u.sender
          RETURNING c.account_id, c.phone_number, c.channel, c.purpose, c.sender, u.state, u.source,
            coalesce(u.since, now()) AS since, u.proof),
        stored AS (
          INSERT INTO consent AS c (account_id, phone_number, channel, purpose, sender, state, source, since, proof)
          SELECT account_id, phone_number, channel, purpose, sender, state, source, coalesce(since, now()), proof FROM u
          WHERE state <> 'UNKNOWN' ORDER BY account_id, person, channel, purpose, sender
          ON CONFLICT (account_id, person, channel, purpose, sender) DO UPDATE
            SET state = excluded.state, source = excluded.source, since = excluded.since, proof = excluded.proof
            -- What a person has decided meanwhile beats a question.
            WHERE (c.state <> excluded.state AND excluded.state <> 'PENDING') OR (c.state = 'OPTED_IN' AND excluded.proof <> coalesce(c.proof, '{}'))
          RETURNING c.account_id, c.phone_number, c.channel, c.purpose, c.sender, c.state, c.source, c.since, c.proof)
        INSERT INTO consent_change (account_id, phone_number, channel, purpose, sender, state, source, at, proof)
        SELECT * FROM gone UNION ALL SELECT * FROM stored
        RETURNING ${CHANGED}`,
  );

/**
 * Changes what is known about persons, also under their other addresses, in the caller's transaction: sends are decided
 * by it once it is committed. Returns the changes under the given addresses.
 */
export async function changeConsent(tx: Db, changes: readonly ConsentChange[]): Promise<Changed[]> {
  if (changes.length === 0) return [];
  const asked = new Map(changes.map((row) => [keyOfChange(row), row]));
  const others = await underOtherAddresses(tx, [...asked.values()]);
  const all = new Map([...others.map((row) => [keyOfChange(row), row] as const), ...asked]);
  const stored: Changed[] = [];
  for (const some of batchesOf(sorted(all))) stored.push(...(await storeChanges(tx, some)));
  await updateHasOptOuts(tx, { accountIds: [...new Set(changes.map((row) => row.accountId))].sort((a, b) => a - b) });
  const changed = stored.filter((row) => asked.has(keyOfChange(row)));
  for (const some of batchesOf(changed))
    await publishFacts(
      tx,
      some.map(({ accountId, ...data }) => ({ accountId, type: 'consent.changed', about: data.phoneNumber, data })),
    );
  return changed;
}

/** Rows of a statement: the 15,000 of one request held the event loop for 0.2 s. */
const MAX_ROWS = 500;

const batchesOf = <T>(rows: readonly T[]): (readonly T[])[] =>
  Array.from({ length: Math.ceil(rows.length / MAX_ROWS) }, (_, i) => rows.slice(i * MAX_ROWS, (i + 1) * MAX_ROWS));

/** Returns changes in the order of their keys, in which all transactions lock them. */
const sorted = (changes: ReadonlyMap<string, ConsentChange>): ConsentChange[] =>
  [...changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change);

/** All messages of an account, from every sender. */
export const ALL_MESSAGES: Key = { purpose: '*', sender: '*' };

/**
 * Records opt-outs of numbers from all messages on channels, in the caller's transaction. An existing opt-out keeps its
 * source and time. Returns the new ones.
 */
export const optOut = (tx: Db, rows: readonly OptOut[]): Promise<Changed[]> =>
  changeConsent(
    tx,
    rows.map((row) => ({ ...ALL_MESSAGES, ...row, state: 'OPTED_OUT', since: null, proof: null })),
  );

/**
 * Removes the opt-outs of persons on channels, of all and of single purposes and whatever their origin, in the caller's
 * transaction. `asOptIn`: the persons asked for it, which is an opt-in to all messages. Returns the changes under the
 * given numbers.
 */
export async function optIn(tx: Db, rows: readonly OptOut[], { asOptIn = false } = {}): Promise<Changed[]> {
  if (rows.length === 0) return [];
  const asked = new Map(rows.map((row) => [keyOf(row), row]));
  const now = { since: null, proof: null };
  const outs = (await listOuts(tx, rows)).filter((out) => {
    const { sender = '*' } = asked.get(keyOf(out)) ?? {};
    return sender === '*' || sender === out.sender;
  });
  const removed = outs.map(
    (row): ConsentChange => ({ ...row, ...now, state: 'UNKNOWN', source: asked.get(keyOf(row))?.source ?? 'API' }),
  );
  const added = asOptIn
    ? [...asked.values()].map((row): ConsentChange => ({ ...ALL_MESSAGES, ...row, ...now, state: 'OPTED_IN' }))
    : [];
  const changes = new Map([...removed, ...added].map((row) => [keyOfChange(row), row]));
  return changeConsent(tx, [...changes.values()]);
}

const OUT = columns({
  accountId: as<number>('c.account_id'),
  phoneNumber: as<string>('c.phone_number'),
  channel: as<Channel>('c.channel'),
  purpose: as<ConsentPurpose>('c.purpose'),
  sender: as<string>('c.sender'),
});

/** Lists the opt-outs of these persons on these channels. */
const listOuts = (db: Db, rows: readonly Consent[]): Promise<RowOf<typeof OUT>[]> =>
  many(
    db,
    sql`SELECT ${OUT} FROM ${rowsOf(rows, personColumns)} AS u JOIN consent c ON ${ON_PERSON}
        WHERE c.state = 'OPTED_OUT'`,
  );

const OPT_OUT = columns({
  phoneNumber: as<string>('phone_number'),
  channel: as<Channel>('channel'),
  source: as<ConsentSource>('source'),
  createdAt: as<Date>('since'),
});
const PURPOSE = columns({ purpose: as<ConsentPurpose>('purpose') });
/** An opt-out as an account sees it. */
type OptOutRow = RowOf<typeof OPT_OUT>;

/** Lists the opt-outs of one number, by channel: those of all messages, then those of one purpose. */
export const listOptOutsOf = (
  db: Db,
  { accountId, phoneNumber }: { accountId: number; phoneNumber: string },
): Promise<(OptOutRow & RowOf<typeof PURPOSE>)[]> =>
  many(
    db,
    sql`SELECT ${OPT_OUT}, ${PURPOSE} FROM consent
        WHERE account_id = ${accountId} AND person = ${personOf(phoneNumber)} AND state = 'OPTED_OUT' AND sender = '*'
        ORDER BY channel, purpose`,
  );

/** Lists the first `limit` opt-outs of an account from all messages, by number. */
export const listOptOuts = (db: Db, { accountId, limit }: { accountId: number; limit: number }): Promise<OptOutRow[]> =>
  many(
    db,
    sql`SELECT ${OPT_OUT} FROM consent
        WHERE account_id = ${accountId} AND state = 'OPTED_OUT' AND purpose = '*' AND sender = '*'
        ORDER BY phone_number, channel LIMIT ${limit}`,
  );

/**
 * Opts a number out of exactly these channels and into all others. Changes are recorded in the audit log. Call it in a
 * transaction.
 */
export async function setOptOuts(
  tx: Db,
  author: Author,
  input: { phoneNumber: string; channels: readonly Channel[]; source: ConsentSource },
): Promise<void> {
  const { phoneNumber, channels, source } = input;
  const { accountId } = author;
  const rows = await listOptOutsOf(tx, { accountId, phoneNumber });
  const current = rows.filter(({ purpose }) => purpose === '*').map((row) => row.channel);
  const out = channels.filter((channel) => !current.includes(channel));
  const back = current.filter((channel) => !channels.includes(channel));
  if (out.length + back.length === 0) return;
  const rowOf = (channel: Channel): OptOut => ({ accountId, phoneNumber, channel, source });
  await optOut(tx, out.map(rowOf));
  await optIn(tx, back.map(rowOf));
  const detail = { optedOut: out, optedIn: back };
  await recordAudit(tx, author, { action: 'consent.update', subject: `number:${phoneNumber}`, detail });
}
