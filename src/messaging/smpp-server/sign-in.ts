import type { Pool } from 'pg';
import { findLiveCredential, type LiveCredential, updateLastBound } from '../../identity/smpp-credentials/sql.ts';
import { createPasswordCheck } from '../../identity/users/check-password.ts';
import type { LoginLimits } from '../../identity/users/login-limits.ts';
import { rateOf, refuseAtGate } from '../../identity/accounts/gate.ts';
import { STATUS } from '../../carriers/smpp/status.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { createAddressList, networkOf } from '../../platform/lib/address.ts';
import { channelSet } from '../../platform/lib/channel.ts';
import type { Rate } from '../../platform/lib/limits/rate-limit.ts';
import { type NumberRules, numberRulesOf } from '../../platform/lib/phone/number-rules.ts';
import { type BindMode, deleteDeadBinds, insertBind, lockCredential } from './sql.ts';

/** A client with an open bind, as its credential and its account are now. */
export type Client = LiveCredential & {
  readonly numberRules: NumberRules;
  /** Null: unlimited. */
  readonly rate: Rate | null;
};

/** Data that a client presents when it binds. */
export type Shown = {
  readonly systemId: string;
  readonly password: string;
  readonly mode: BindMode;
  readonly address: string;
  /** interface_version. */
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

  async function check({ systemId, password, address }: Shown): Promise<LiveCredential> {
    const network = networkOf(address);
    const isPossible = systemId !== '' && systemId.length <= MAX_SYSTEM_ID_LENGTH;
    const credential = isPossible ? await findLiveCredential(pool, { systemId }) : undefined;
    const attempt = { username: `smpp ${systemId}`, network, known: credential?.lastNetwork === network };
    await checkPassword(attempt, password, credential?.passwordHash);
    if (!credential) throw new AppError('unauthenticated');
    return credential;
  }

  /** Opens the bind in the database; undefined when the limit is reached. */
  function open(credential: LiveCredential, { mode, address, version }: Shown): Promise<number | undefined> {
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

  return async (shown: Shown): Promise<SignedIn> => {
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
