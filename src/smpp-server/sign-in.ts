import type { Pool } from 'pg';
import { rateOf, refuseAtGate } from '../accounts/accounts.ts';
import type { LoginLimits } from '../accounts/password.ts';
import { findLiveCredential, type LiveCredential, updateLastBound } from '../accounts/smpp-credentials.ts';
import { createPasswordCheck } from '../accounts/users.ts';
import { createAddressList, networkOf } from '../core/address.ts';
import { type SendingRules, sendingRulesOf } from '../core/actor.ts';
import { channelSet } from '../core/channels.ts';
import { bigint, int, rowsOf } from '../core/db/columns.ts';
import { type Db, exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { isOwnerAlive } from '../core/db/worker-session.ts';
import { AppError } from '../core/errors.ts';
import type { Rate } from '../core/limits.ts';
import { type NumberRules, numberRulesOf } from '../core/phone.ts';
import type { BindMode } from '../smpp/session.ts';
import { STATUS } from '../smpp/status.ts';

/** A client with an open bind, as its credential and its account are now. */
export type Client = LiveCredential & {
  readonly numberRules: NumberRules;
  readonly sendingRules: SendingRules;
  /** Null: unlimited. */
  readonly rate: Rate | null;
};

/** Data that a client presents when it binds. */
export type BindAttempt = {
  readonly systemId: string;
  readonly password: string;
  readonly mode: BindMode;
  readonly address: string;
  readonly version: number;
};

/** A bind that is open in the database, or the status with which it is rejected and the reason, for our log. */
export type SignedIn =
  | { readonly client: Client; readonly bindId: number }
  | { readonly status: number; readonly reason: string };

const MAX_SYSTEM_ID_LENGTH = 15;
const SECONDS = 60;

/** Completes a credential with the values derived from it and its account. */
export const toClient = (credential: LiveCredential): Client => ({
  ...credential,
  numberRules: numberRulesOf(credential),
  sendingRules: sendingRulesOf(credential),
  rate: rateWithin(rateOf(credential), credential.tps),
});

/** Returns the smaller of the rates of the account and the credential: an account sets the latter itself. */
function rateWithin(account: Rate | null, tps: number | null): Rate | null {
  if (tps === null) return account;
  const own = { perSecond: tps, perMinute: tps * SECONDS };
  if (account === null) return own;
  return {
    perSecond: Math.min(own.perSecond, account.perSecond),
    perMinute: Math.min(own.perMinute, account.perMinute),
  };
}

/** Returns the reason why a client may not have a bind (any more); null if it may. The address is that of the bind. */
export function refusalOf(credential: LiveCredential, address: string): string | null {
  try {
    refuseAtGate(credential, address);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  if (!channelSet(credential.channels).has('SMS')) return 'the plan of the account does not include SMS';
  const { addresses } = credential;
  const isAllowed = addresses.length === 0 || createAddressList(addresses)(address);
  return isAllowed ? null : 'the address is not one of the credential';
}

/**
 * Creates the check of binds: the password within the limits of failed attempts that all sign-ins share, then the
 * permissions of account and credential, then the number of binds, which all processes count together. An unknown
 * system_id and a wrong password look alike, and take equally long.
 */
export function createSignIn({ pool, limits, owner }: { pool: Pool; limits: LoginLimits; owner: number }) {
  const checkPassword = createPasswordCheck(limits);

  async function check({ systemId, password, address }: BindAttempt): Promise<LiveCredential> {
    const network = networkOf(address);
    const isPossible = systemId !== '' && systemId.length <= MAX_SYSTEM_ID_LENGTH;
    const credential = isPossible ? await findLiveCredential(pool, { systemId }) : undefined;
    const attempt = { username: `smpp ${systemId}`, network, known: credential?.lastNetwork === network };
    await checkPassword(attempt, password, credential?.passwordHash);
    if (!credential) throw new AppError('unauthenticated');
    return credential;
  }

  /** Opens the bind in the database; undefined when the limit is reached. */
  function open(credential: LiveCredential, { mode, address, version }: BindAttempt): Promise<number | undefined> {
    const { accountId, id, maxBinds } = credential;
    const key = { accountId, credentialId: id };
    return transaction(pool, async (tx) => {
      await lockCredential(tx, key);
      await deleteDeadBinds(tx, { accountId });
      const bindId = await insertBind(tx, { ...key, owner, mode, address, version, maxBinds });
      if (bindId !== undefined) await updateLastBound(tx, { accountId, id, network: networkOf(address) });
      return bindId;
    });
  }

  return async (shown: BindAttempt): Promise<SignedIn> => {
    try {
      const credential = await check(shown);
      const refusal = refusalOf(credential, shown.address);
      if (refusal !== null) return { status: STATUS.ESME_RBINDFAIL, reason: refusal };
      const bindId = await open(credential, shown);
      // Some clients take ESME_RALYBND for success.
      if (bindId === undefined) return { status: STATUS.ESME_RBINDFAIL, reason: 'all its binds are open' };
      return { client: toClient(credential), bindId };
    } catch (error) {
      return refusedBy(error);
    }
  };
}

function refusedBy(error: unknown): SignedIn {
  const reason = error instanceof Error ? error.message : String(error);
  const code = error instanceof AppError ? error.code : 'internal';
  if (code === 'unauthenticated') return { status: STATUS.ESME_RINVPASWD, reason: 'wrong system_id or password' };
  return { status: code === 'rate_limited' ? STATUS.ESME_RBINDFAIL : STATUS.ESME_RSYSERR, reason };
}

type Credential = { readonly accountId: number; readonly credentialId: number };

/** Locks a credential until the transaction ends, so that its binds are counted one after the other. */
const lockCredential = (db: Db, { accountId, credentialId }: Credential): Promise<number> =>
  exec(db, sql`SELECT FROM smpp_credential WHERE account_id = ${accountId} AND id = ${credentialId} FOR NO KEY UPDATE`);

/** Deletes the binds of an account whose process has died. */
const deleteDeadBinds = (db: Db, { accountId }: { accountId: number }): Promise<number> =>
  exec(db, sql`DELETE FROM smpp_bind b WHERE b.account_id = ${accountId} AND NOT ${isOwnerAlive(sql`b.owner`)}`);

/** Maximum binds of one account, across its credentials: an account makes as many of these as it wants. */
export const MAX_BINDS_OF_ACCOUNT = 200;

type NewBind = Credential & {
  readonly owner: number;
  readonly mode: BindMode;
  readonly address: string;
  readonly version: number;
  readonly maxBinds: number;
};

/** Inserts a bind unless the credential, or its account, has reached its limit. Returns its id, or nothing. */
async function insertBind(db: Db, bind: NewBind): Promise<number | undefined> {
  const { accountId, credentialId, owner, mode, address, version, maxBinds } = bind;
  const rows = await many<{ id: number }>(
    db,
    sql`INSERT INTO smpp_bind (account_id, credential_id, owner, mode, address, interface_version)
        SELECT ${accountId}::bigint, ${credentialId}::bigint, ${owner}::bigint, ${mode}, ${address}, ${version}::smallint
        WHERE (SELECT count(*) FROM smpp_bind b
               WHERE b.account_id = ${accountId} AND b.credential_id = ${credentialId}) < ${maxBinds}
          AND (SELECT count(*) FROM smpp_bind b WHERE b.account_id = ${accountId}) < ${MAX_BINDS_OF_ACCOUNT}
        RETURNING id`,
  );
  return rows[0]?.id;
}

export const deleteBinds = (db: Db, { ids }: { ids: readonly number[] }): Promise<number> =>
  exec(db, sql`DELETE FROM smpp_bind WHERE id = ANY (${ids}::bigint[])`);

/** Report of a process about one of its binds. */
export type BindReport = {
  readonly id: number;
  readonly submits: number;
  readonly throttled: number;
  readonly perSecond: number;
  readonly unanswered: number;
};

/** Stores the activity so far of binds of any accounts. */
export const updateBindReports = (db: Db, { reports }: { reports: readonly BindReport[] }): Promise<number> =>
  exec(
    db,
    sql`UPDATE smpp_bind b SET submits = u.submits, throttled = u.throttled, per_second = u.per_second,
          unanswered = u.unanswered
        FROM ${rowsOf(reports, {
          id: bigint((r) => r.id),
          submits: bigint((r) => r.submits),
          throttled: bigint((r) => r.throttled),
          per_second: int((r) => r.perSecond),
          unanswered: int((r) => r.unanswered),
        })} AS u
        WHERE b.id = u.id`,
  );

/** Counts the open binds of all accounts. */
export async function countBinds(db: Db): Promise<number> {
  const row = await one<{ count: number }>(
    db,
    sql`SELECT count(*) AS count FROM smpp_bind b WHERE ${isOwnerAlive(sql`b.owner`)}`,
  );
  return row.count;
}
