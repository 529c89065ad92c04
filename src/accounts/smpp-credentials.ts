import { randomInt } from 'node:crypto';
import { type Holder, mayAccess } from '../core/actor.ts';
import { canonicalBlock } from '../core/address.ts';
import {
  as,
  columns,
  type Db,
  exec,
  many,
  maybeOne,
  one,
  pageRows,
  type Paging,
  type RowOf,
  sql,
} from '../core/db/query.ts';
import { AppError, existing, invalidFields } from '../core/errors.ts';
import { type AccountGate, GATE, notifyAccountChange } from './accounts.ts';
import { type Author, recordAudit } from './audit.ts';
import { type Hashed, hashed } from './password.ts';

/** The author of a change, with the scopes that a credential may get from it. */
type Grantor = Author & Holder;

/**
 * Rejects what gives its author rights by way of a credential: its binds send SMS, and receive inbound messages if they
 * may. Errors: 403.
 */
function refuseMore(author: Grantor, { inbound }: Pick<CredentialSettings, 'inbound'>): void {
  const lacking = [
    ...(mayAccess(author, 'SMS', 'write') ? [] : ['SMS']),
    ...(!inbound || mayAccess(author, 'inbox', 'read') ? [] : ['inbox']),
  ];
  if (lacking.length > 0)
    throw new AppError('forbidden', { message: `These credentials themselves lack the scopes ${lacking.join(', ')}` });
}

/** Settings as given; omitted ones get their default, or are unchanged. */
export type SettingsInput = { readonly [K in keyof CredentialSettings]?: CredentialSettings[K] | undefined };

const DEFAULTS: CredentialSettings = {
  name: '',
  maxBinds: 2,
  window: 50,
  tps: null,
  addresses: [],
  senders: [],
  alphabet: 'gsm',
  messageIds: 'uuid',
  inbound: true,
};

/** A credential with its password, which cannot be shown again. */
export type IssuedCredential = CredentialSettings & {
  readonly id: number;
  readonly systemId: string;
  readonly password: string;
  readonly createdAt: Date;
};

const NAMES = Object.keys(DEFAULTS) as readonly (keyof CredentialSettings)[];

/** Returns the settings that were given, without any other field of a body. */
const givenIn = (input: SettingsInput): Partial<CredentialSettings> =>
  Object.fromEntries(NAMES.filter((name) => input[name] !== undefined).map((name) => [name, input[name]]));

/** Completes settings by others. Errors: 400 naming each invalid address. */
function withSettings(input: SettingsInput, base: CredentialSettings = DEFAULTS): CredentialSettings {
  const settings: CredentialSettings = { ...base, ...givenIn(input) };
  return { ...settings, addresses: readBlocks(settings.addresses) };
}

function readBlocks(texts: readonly string[]): string[] {
  const blocks = texts.map((text) => canonicalBlock(text.trim()));
  const faults = blocks.flatMap((block, at) =>
    block === undefined ? [{ field: `addresses[${at}]`, message: 'must be an IP address or a CIDR block' }] : [],
  );
  if (faults.length > 0) throw invalidFields(faults);
  return [...new Set(blocks.filter((block) => block !== undefined))];
}

/** Maximum of outstanding requests of all binds of an account: each is work that has begun, or waits in memory. */
const MAX_WINDOWS = 10_000;

/** Runs a change of credentials. Errors: 400 when binds × window of all of them exceed 10,000 afterwards. */
async function withinWindows<T>(tx: Db, { accountId }: Author, change: () => Promise<T>): Promise<T> {
  await lockCredentials(tx, { accountId });
  const result = await change();
  const sum = await sumWindows(tx, { accountId });
  if (sum <= MAX_WINDOWS) return result;
  const message = `must be smaller: binds × window of all credentials of the account would be ${sum}, at most ${MAX_WINDOWS}`;
  throw invalidFields([{ field: 'window', message }]);
}

/**
 * Creates a credential of the author's account with a new system_id and this password (`newSmppPassword`). Call it in a
 * transaction. Errors: 400 for an invalid address, and for more requests in flight than an account may have; 403 when
 * the author lacks what its binds may do.
 */
export async function createCredential(
  tx: Db,
  author: Grantor,
  { password, passwordHash, ...input }: SettingsInput & Hashed,
): Promise<IssuedCredential> {
  const settings = withSettings(input);
  refuseMore(author, settings);
  const systemId = generateSystemId();
  const { accountId } = author;
  const row = { ...settings, accountId, systemId, passwordHash };
  const { id, createdAt } = await withinWindows(tx, author, () => insertCredential(tx, row));
  const detail = { systemId, ...settings };
  await recordAudit(tx, author, { action: 'smpp-credential.create', subject: `smpp-credential:${id}`, detail });
  // Other processes may reject its binds until they know of it.
  await notifyAccountChange(tx, { accountId });
  return { ...settings, id, systemId, password, createdAt };
}

type Which = { readonly id: number };

const subjectOf = ({ id }: Which): string => `smpp-credential:${id}`;

async function found(tx: Db, { accountId }: Author, { id }: Which): Promise<CredentialRow> {
  return existing(findCredentialForUpdate(tx, { accountId, id }));
}

/**
 * Changes settings of a credential; its binds follow immediately, and those that are no longer allowed are closed. Call
 * it in a transaction. Errors: 404 for an unknown or foreign id, 400 for an invalid address, and for more requests in
 * flight than an account may have, 403 when the author lacks what its binds may do.
 */
export async function changeCredential(
  tx: Db,
  author: Grantor,
  { id, ...input }: SettingsInput & Which,
): Promise<CredentialRow> {
  const { accountId } = author;
  const row = await found(tx, author, { id });
  const settings = withSettings(input, row);
  refuseMore(author, settings);
  await withinWindows(tx, author, () => updateCredential(tx, { ...settings, accountId, id }));
  const detail = givenIn(input);
  await recordAudit(tx, author, { action: 'smpp-credential.update', subject: subjectOf({ id }), detail });
  await notifyAccountChange(tx, { accountId });
  return { ...row, ...settings };
}

/**
 * Gives a credential this new password (`newSmppPassword`), which is returned and shown only once; the binds that were opened with the previous
 * one are closed. Call it in a transaction. Errors: 404 for an unknown or foreign id, 403 when the author lacks what its
 * binds may do.
 */
export async function rotateCredential(
  tx: Db,
  author: Grantor,
  { id, password, passwordHash }: Which & Hashed,
): Promise<IssuedCredential> {
  const { accountId } = author;
  const row = await found(tx, author, { id });
  refuseMore(author, row);
  await updatePassword(tx, { accountId, id, passwordHash });
  await recordAudit(tx, author, { action: 'smpp-credential.rotate', subject: subjectOf({ id }) });
  await notifyAccountChange(tx, { accountId });
  return { ...row, password };
}

/**
 * Deletes a credential with the receipts that wait for its binds, and closes them. Call it in a transaction. Errors:
 * 404 for an unknown or foreign id.
 */
export async function removeCredential(tx: Db, author: Author, { id }: Which): Promise<void> {
  const { accountId } = author;
  if ((await deleteCredential(tx, { accountId, id })) === 0) throw new AppError('not_found');
  await recordAudit(tx, author, { action: 'smpp-credential.delete', subject: subjectOf({ id }) });
  await notifyAccountChange(tx, { accountId });
}

/** Letters without those that people take for one another. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz';
const SYSTEM_ID_ALPHABET = `${LETTERS}23456789`;
const PASSWORD_ALPHABET = `${LETTERS}${LETTERS.toUpperCase().replace('L', '')}23456789`;

const SYSTEM_ID_LENGTH = 12;
/** Maximum length in SMPP 3.4: 9 octets with the NUL (SMPP 3.4 §5.2.2). */
const PASSWORD_LENGTH = 8;

const randomText = (alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');

/** Generates a system_id of 12 characters, of which the field of a bind takes 15. Begins with a letter. */
const generateSystemId = (): string => randomText(LETTERS, 1) + randomText(SYSTEM_ID_ALPHABET, SYSTEM_ID_LENGTH - 1);

/**
 * Generates a password of 8 characters, with 45 random bits: enough against guesses at the port, which are limited. Its
 * hash must be slow.
 */
export const generateSmppPassword = (): string => randomText(PASSWORD_ALPHABET, PASSWORD_LENGTH);

/** Generates a password of an account and hashes it. Call it before the transaction that stores it. */
export const newSmppPassword = ({ accountId }: { readonly accountId: number }): Promise<Hashed> =>
  hashed(generateSmppPassword(), { by: accountId });

/** Meanings of data_coding 0 for a customer. */
export const SMPP_ALPHABETS = ['gsm', 'latin1', 'ascii', 'utf8'] as const;
type SmppAlphabet = (typeof SMPP_ALPHABETS)[number];

/** Formats of message ids for a customer. */
export const ID_FORMATS = ['uuid', 'hex', 'decimal'] as const;
export type IdFormat = (typeof ID_FORMATS)[number];

const SETTINGS = columns({
  name: as<string>('s.name'),
  maxBinds: as<number>('s.max_binds'),
  /** Unanswered requests of one bind, in each direction. */
  window: as<number>('s.window_size'),
  /** Messages a second of all binds; null: as many as an API key may send requests. */
  tps: as<number | null>('s.tps'),
  /** Canonical blocks; empty: every address. */
  addresses: as<string[]>('s.allowed_addresses::text[]'),
  /** Empty: every sender. */
  senders: as<string[]>('s.allowed_senders'),
  alphabet: as<SmppAlphabet>('s.alphabet'),
  messageIds: as<IdFormat>('s.message_ids'),
  /** True if its receivers get the inbound messages of the account. */
  inbound: as<boolean>('s.inbound'),
});
export type CredentialSettings = RowOf<typeof SETTINGS>;

const CREDENTIAL = columns({
  id: as<number>('s.id'),
  systemId: as<string>('s.system_id'),
  createdAt: as<Date>('s.created_at'),
  lastBoundAt: as<Date | null>('s.last_bound_at'),
});
export type CredentialRow = CredentialSettings & RowOf<typeof CREDENTIAL>;

type Key = { readonly accountId: number; readonly id: number };

/** Reads a page of the credentials of an account, oldest first. */
export const listCredentials = (db: Db, { accountId }: { accountId: number }, page: Paging) =>
  pageRows<CredentialRow>(
    db,
    {
      columns: sql`${CREDENTIAL}, ${SETTINGS}`,
      from: sql`FROM smpp_credential s WHERE s.account_id = ${accountId}`,
      order: sql`s.id`,
    },
    page,
  );

/** Lets changes of an account's credentials run one after the other, until the transaction ends. */
const lockCredentials = (tx: Db, { accountId }: { readonly accountId: number }): Promise<number> =>
  exec(tx, sql`SELECT pg_advisory_xact_lock(hashtextextended(${`smpp credentials ${accountId}`}, 0))`);

/** Sums up the requests that all credentials of an account may leave unanswered: binds × window of each. */
async function sumWindows(db: Db, { accountId }: { readonly accountId: number }): Promise<number> {
  const row = await one<{ sum: number }>(
    db,
    sql`SELECT coalesce(sum(max_binds * window_size), 0)::int8 AS sum FROM smpp_credential WHERE account_id = ${accountId}`,
  );
  return row.sum;
}

/** Finds a credential and locks it until the transaction ends, so that concurrent changes run one after the other. */
const findCredentialForUpdate = (db: Db, { accountId, id }: Key): Promise<CredentialRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${CREDENTIAL}, ${SETTINGS} FROM smpp_credential s
      WHERE s.account_id = ${accountId} AND s.id = ${id} FOR UPDATE`,
  );

type NewCredential = CredentialSettings & {
  readonly accountId: number;
  readonly systemId: string;
  readonly passwordHash: string;
};

const insertCredential = (db: Db, row: NewCredential): Promise<{ id: number; createdAt: Date }> =>
  one(
    db,
    sql`INSERT INTO smpp_credential (account_id, system_id, password_hash, name, max_binds, window_size, tps,
          allowed_addresses, allowed_senders, alphabet, message_ids, inbound)
      VALUES (${row.accountId}, ${row.systemId}, ${row.passwordHash}, ${row.name}, ${row.maxBinds}, ${row.window},
          ${row.tps}, ${row.addresses}::cidr[], ${row.senders}::text[], ${row.alphabet}, ${row.messageIds}, ${row.inbound})
      RETURNING id, created_at AS "createdAt"`,
  );

const updateCredential = (db: Db, row: CredentialSettings & Key): Promise<number> =>
  exec(
    db,
    sql`UPDATE smpp_credential SET name = ${row.name}, max_binds = ${row.maxBinds}, window_size = ${row.window},
          tps = ${row.tps}, allowed_addresses = ${row.addresses}::cidr[], allowed_senders = ${row.senders}::text[],
          alphabet = ${row.alphabet}, message_ids = ${row.messageIds}, inbound = ${row.inbound}
      WHERE account_id = ${row.accountId} AND id = ${row.id}`,
  );

const updatePassword = (db: Db, { accountId, id, passwordHash }: Key & { passwordHash: string }): Promise<number> =>
  exec(
    db,
    sql`UPDATE smpp_credential SET password_hash = ${passwordHash} WHERE account_id = ${accountId} AND id = ${id}`,
  );

const deleteCredential = (db: Db, { accountId, id }: Key): Promise<number> =>
  exec(db, sql`DELETE FROM smpp_credential WHERE account_id = ${accountId} AND id = ${id}`);

const LIVE = columns({
  id: as<number>('s.id'),
  systemId: as<string>('s.system_id'),
  passwordHash: as<string>('s.password_hash'),
  /** The network from which it last bound. */
  lastNetwork: as<string | null>('s.last_network::text'),
});
/** Credential as a bind needs it, with the permissions of its account. */
export type LiveCredential = RowOf<typeof LIVE> & CredentialSettings & AccountGate;

/** Finds a credential by its system_id, before the account is known. */
export const findLiveCredential = (db: Db, { systemId }: { systemId: string }): Promise<LiveCredential | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${LIVE}, ${SETTINGS}, ${GATE} FROM smpp_credential s JOIN account a ON a.id = s.account_id
      WHERE s.system_id = ${systemId}`,
  );

/** Lists those of these credentials, of any accounts, that still exist: for the binds of a process. */
export const listLiveCredentials = (db: Db, { ids }: { ids: readonly number[] }): Promise<LiveCredential[]> =>
  many(
    db,
    sql`SELECT ${LIVE}, ${SETTINGS}, ${GATE} FROM smpp_credential s JOIN account a ON a.id = s.account_id
      WHERE s.id = ANY (${ids}::bigint[])`,
  );

export const updateLastBound = (db: Db, { accountId, id, network }: Key & { network: string }): Promise<number> =>
  exec(
    db,
    sql`UPDATE smpp_credential SET last_bound_at = now(), last_network = ${network}::cidr
      WHERE account_id = ${accountId} AND id = ${id}`,
  );

/** Lists the networks from which credentials of any account last bound, at most 10,000, in the form of `networkOf`. */
export const listKnownNetworks = async (db: Db): Promise<string[]> =>
  (
    await many<{ network: string }>(
      db,
      sql`SELECT DISTINCT last_network::text AS network FROM smpp_credential WHERE last_network IS NOT NULL LIMIT 10000`,
    )
  ).map(({ network }) => network);
