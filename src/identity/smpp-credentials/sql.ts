import { type AccountGate, GATE } from '../accounts/sql.ts';
import { type Db, exec, many, maybeOne, one, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

/** Meanings of data_coding 0 for a customer. */
export const SMPP_ALPHABETS = ['gsm', 'latin1', 'ascii', 'utf8'] as const;
export type SmppAlphabet = (typeof SMPP_ALPHABETS)[number];

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
/** Changeable settings of a credential. */
export type CredentialSettings = RowOf<typeof SETTINGS>;

const CREDENTIAL = columns({
  id: as<number>('s.id'),
  systemId: as<string>('s.system_id'),
  createdAt: as<Date>('s.created_at'),
  lastBoundAt: as<Date | null>('s.last_bound_at'),
});
/** A credential as shown in lists. */
export type CredentialRow = CredentialSettings & RowOf<typeof CREDENTIAL>;

type Key = { readonly accountId: number; readonly id: number };

/** Lists the credentials of an account, oldest first. */
export const listCredentials = (
  db: Db,
  { accountId, page, limit }: { accountId: number; page: number; limit: number },
): Promise<CredentialRow[]> =>
  many(
    db,
    sql`SELECT ${CREDENTIAL}, ${SETTINGS} FROM smpp_credential s
      WHERE s.account_id = ${accountId} ORDER BY s.id LIMIT ${limit} OFFSET ${page * limit}`,
  );

export async function countCredentials(db: Db, { accountId }: { accountId: number }): Promise<number> {
  const row = await one<{ total: number }>(
    db,
    sql`SELECT count(*) AS total FROM smpp_credential WHERE account_id = ${accountId}`,
  );
  return row.total;
}

/** Lets changes of an account's credentials run one after the other, until the transaction ends. */
export const lockCredentials = (tx: Db, { accountId }: { readonly accountId: number }): Promise<number> =>
  exec(tx, sql`SELECT pg_advisory_xact_lock(hashtextextended(${`smpp credentials ${accountId}`}, 0))`);

/** Sums up the requests that all credentials of an account may leave unanswered: binds × window of each. */
export async function sumWindows(db: Db, { accountId }: { readonly accountId: number }): Promise<number> {
  const row = await one<{ sum: number }>(
    db,
    sql`SELECT coalesce(sum(max_binds * window_size), 0)::int8 AS sum FROM smpp_credential WHERE account_id = ${accountId}`,
  );
  return row.sum;
}

/** Finds a credential and locks it until the transaction ends, so that concurrent changes run one after the other. */
export const findCredentialForUpdate = (db: Db, { accountId, id }: Key): Promise<CredentialRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${CREDENTIAL}, ${SETTINGS} FROM smpp_credential s
      WHERE s.account_id = ${accountId} AND s.id = ${id} FOR UPDATE`,
  );

export type NewCredential = CredentialSettings & {
  readonly accountId: number;
  readonly systemId: string;
  readonly passwordHash: string;
};

export const insertCredential = (db: Db, row: NewCredential): Promise<{ id: number; createdAt: Date }> =>
  one(
    db,
    sql`INSERT INTO smpp_credential (account_id, system_id, password_hash, name, max_binds, window_size, tps,
          allowed_addresses, allowed_senders, alphabet, message_ids, inbound)
      VALUES (${row.accountId}, ${row.systemId}, ${row.passwordHash}, ${row.name}, ${row.maxBinds}, ${row.window},
          ${row.tps}, ${row.addresses}::cidr[], ${row.senders}::text[], ${row.alphabet}, ${row.messageIds}, ${row.inbound})
      RETURNING id, created_at AS "createdAt"`,
  );

export const updateCredential = (db: Db, row: CredentialSettings & Key): Promise<number> =>
  exec(
    db,
    sql`UPDATE smpp_credential SET name = ${row.name}, max_binds = ${row.maxBinds}, window_size = ${row.window},
          tps = ${row.tps}, allowed_addresses = ${row.addresses}::cidr[], allowed_senders = ${row.senders}::text[],
          alphabet = ${row.alphabet}, message_ids = ${row.messageIds}, inbound = ${row.inbound}
      WHERE account_id = ${row.accountId} AND id = ${row.id}`,
  );

export const updatePassword = (
  db: Db,
  { accountId, id, passwordHash }: Key & { passwordHash: string },
): Promise<number> =>
  exec(
    db,
    sql`UPDATE smpp_credential SET password_hash = ${passwordHash} WHERE account_id = ${accountId} AND id = ${id}`,
  );

export const deleteCredential = (db: Db, { accountId, id }: Key): Promise<number> =>
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

/** Records that a credential has bound, and its network. */
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
