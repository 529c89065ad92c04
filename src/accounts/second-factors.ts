import { createHash } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import type { Pool } from 'pg';
import type { Role } from '../core/actor.ts';
import { type Task, untilIdle } from '../core/background.ts';
import { as, columns, type Db, exec, many, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import { AppError } from '../core/errors.ts';
import { open, type SecretKey } from '../core/secrets.ts';
import { type Clock, HOUR_MS } from '../core/time.ts';
import { type AccountGate, GATE } from './accounts.ts';
import { HAS_SECOND_FACTOR } from './sessions.ts';
import { PASSWORD_SIGNS_IN } from './users.ts';

export type CodeDeps = { readonly secretKey: SecretKey; readonly clock: Clock };

/** After this many wrong codes in a row, each further one doubles the wait before the next, from a minute to an hour. */
const FREE_WRONG_CODES = 5;
const FIRST_WAIT_SECONDS = 60;
const MAX_WAIT_SECONDS = 3600;

/** The place where a secret is sealed, which binds it to its row. */
export const secretPlaceOf = (userId: number): string => `totp_factor.secret/${userId}`;

/**
 * Checks a one-time code or a recovery code of a user and uses it up. Returns its kind, or null if it is wrong; a
 * wrong one-time code is counted, so commit the transaction in both cases. With at most 24 tries a day once the wait is
 * an hour, guessing a code would take decades.
 * Errors: 429 while the user has to wait after wrong codes. Recovery codes cannot be guessed and never wait.
 */
export async function checkCode(
  tx: Db,
  { secretKey, clock }: CodeDeps,
  owner: FactorOwner,
  typed: string,
): Promise<'totp' | 'recovery-code' | null> {
  const hash = hashOfRecoveryCode(typed);
  if (hash) return (await deleteRecoveryCode(tx, { ...owner, hash })) > 0 ? 'recovery-code' : null;
  const row = await findTotpForUpdate(tx, owner);
  if (!row?.secret) return null;
  refuseTooSoon(row);
  const secret = open(secretKey, row.secret, secretPlaceOf(owner.userId)).toString();
  const step = stepOfCode(secret, typed.replaceAll(/\s/g, ''), { at: clock.now(), lastStep: row.lastStep });
  await (step === null ? updateWrongCodes(tx, owner) : updateLastStep(tx, { ...owner, step }));
  return step === null ? null : 'totp';
}

function refuseTooSoon({ wrongCodes, wrongSince }: TotpRow): void {
  if (wrongCodes < FREE_WRONG_CODES || wrongSince === null) return;
  const wait = Math.min(FIRST_WAIT_SECONDS * 2 ** (wrongCodes - FREE_WRONG_CODES), MAX_WAIT_SECONDS) - wrongSince;
  if (wait > 0)
    throw new AppError('rate_limited', {
      message: 'Too many wrong codes: wait, or use a recovery code or a passkey',
      retryAfterSeconds: wait,
    });
}

/** RFC 6238 as all authenticator apps know it. */
const PERIOD_SECONDS = 30;
const DIGITS = 6;
/** Codes of this many steps before and after the current one count, for clocks that differ. */
const WINDOW = 1;
/** The length that RFC 4226 recommends: that of a SHA-1 hash. */
const SECRET_BYTES = 20;

/** Generates a secret for one-time codes, in Base32. */
export const generateTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

/** Returns the otpauth:// URI that authenticator apps read from a QR code. */
export const totpUri = (secret: string, username: string): string => totpOf(secret, username).toString();

const totpOf = (secret: string, label: string): TOTP =>
  new TOTP({
    issuer: 'Heliograph',
    label,
    secret: Secret.fromBase32(secret),
    algorithm: 'SHA1',
    digits: DIGITS,
    period: PERIOD_SECONDS,
  });

/**
 * Returns the time step of a one-time code, or null if the code is wrong at this time, or of a step that is not after
 * `lastStep`: a code counts once (RFC 6238, section 5.2).
 */
export function stepOfCode(
  secret: string,
  code: string,
  { at, lastStep }: { at: Date; lastStep: number },
): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const totp = totpOf(secret, '');
  const timestamp = at.getTime();
  const delta = totp.validate({ token: code, timestamp, window: WINDOW });
  if (delta === null) return null;
  const step = totp.counter({ timestamp }) + delta;
  return step > lastStep ? step : null;
}

const CODES = 10;
/** 80 random bits: 16 characters of Base32. */
const CODE_BYTES = 10;
const CODE = /^[a-z2-7]{16}$/;

/**
 * Replaces the recovery codes of a user and returns the new ones, which cannot be shown again. Call it in a transaction.
 */
export async function replaceRecoveryCodes(tx: Db, owner: FactorOwner): Promise<string[]> {
  const codes = Array.from({ length: CODES }, () => new Secret({ size: CODE_BYTES }).base32.toLowerCase());
  await deleteRecoveryCodes(tx, owner);
  await insertRecoveryCodes(tx, { ...owner, hashes: codes.map(hashOf) });
  return codes.map((code) => code.replace(/(.{4})(?=.)/g, '$1-'));
}

const hashOf = (code: string): Buffer => createHash('sha256').update(code).digest();

/** Returns the hash under which a recovery code is stored, however it was typed; undefined if it cannot be one. */
function hashOfRecoveryCode(typed: string): Buffer | undefined {
  const code = typed.replaceAll(/[\s-]/g, '').toLowerCase();
  return CODE.test(code) ? hashOf(code) : undefined;
}

/** Deletes expired challenges to passkeys. */
export const secondFactorTasks = ({ pool }: { readonly pool: Pool }): Task[] => [
  { name: 'old passkey challenges', work: untilIdle(() => deleteOldChallenges(pool, { limit: 10_000 }), HOUR_MS) },
];

/** Key of all statements on factors: a user of an account. */
export type FactorOwner = { readonly accountId: number; readonly userId: number };

/** Locks a user until the transaction ends, so that changes of the factors and sign-ins come one after the other. */
export const lockUser = (db: Db, { accountId, userId }: FactorOwner): Promise<number> =>
  exec(db, sql`SELECT FROM app_user WHERE account_id = ${accountId} AND id = ${userId} FOR NO KEY UPDATE`);

/** Factors of a user, and the requirement of the account. */
export type FactorSummary = {
  totpSince: Date | null;
  recoveryCodes: number;
  hasAny: boolean;
  isRequired: boolean;
};

export const findFactorSummary = (db: Db, { accountId, userId }: FactorOwner): Promise<FactorSummary | undefined> =>
  maybeOne<FactorSummary>(
    db,
    sql`SELECT (SELECT f.confirmed_at FROM totp_factor f WHERE f.user_id = u.id AND f.secret IS NOT NULL) AS "totpSince",
        (SELECT count(*) FROM recovery_code r WHERE r.user_id = u.id) AS "recoveryCodes",
        ${HAS_SECOND_FACTOR} AS "hasAny", a.second_factor = 'required' AS "isRequired"
      FROM app_user u JOIN account a ON a.id = u.account_id
      WHERE u.account_id = ${accountId} AND u.id = ${userId}`,
  );

/** Stores the sealed secret of an enrolment. A confirmed one stays valid until a code confirms the new one. */
export const upsertPendingSecret = (db: Db, input: FactorOwner & { pendingSecret: Buffer }): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO totp_factor (account_id, user_id, pending_secret)
      VALUES (${input.accountId}, ${input.userId}, ${input.pendingSecret})
      ON CONFLICT (user_id) DO UPDATE SET pending_secret = excluded.pending_secret
        WHERE totp_factor.account_id = excluded.account_id`,
  );

const TOTP_COLUMNS = columns({
  secret: as<Buffer | null>('f.secret'),
  pendingSecret: as<Buffer | null>('f.pending_secret'),
  lastStep: as<number>('f.last_step'),
  wrongCodes: as<number>('f.wrong_codes'),
  /** Seconds since the last wrong code; null if there was none. */
  wrongSince: as<number | null>('extract(epoch FROM now() - f.wrong_at)::float8'),
});
type TotpRow = RowOf<typeof TOTP_COLUMNS>;

/** Finds the secrets of a user and locks them until the transaction ends, so that a code counts once. */
export const findTotpForUpdate = (db: Db, { accountId, userId }: FactorOwner): Promise<TotpRow | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${TOTP_COLUMNS} FROM totp_factor f WHERE f.account_id = ${accountId} AND f.user_id = ${userId} FOR UPDATE`,
  );

/** Makes the pending secret the valid one. `step` is that of the code that confirmed it. */
export const updateConfirmed = (db: Db, input: FactorOwner & { secret: Buffer; step: number }): Promise<number> =>
  exec(
    db,
    sql`UPDATE totp_factor SET secret = ${input.secret}, pending_secret = NULL, confirmed_at = now(),
        last_step = ${input.step}, wrong_codes = 0, wrong_at = NULL
      WHERE account_id = ${input.accountId} AND user_id = ${input.userId}`,
  );

const updateLastStep = (db: Db, input: FactorOwner & { step: number }): Promise<number> =>
  exec(
    db,
    sql`UPDATE totp_factor SET last_step = ${input.step}, wrong_codes = 0, wrong_at = NULL
      WHERE account_id = ${input.accountId} AND user_id = ${input.userId}`,
  );

const updateWrongCodes = (db: Db, { accountId, userId }: FactorOwner): Promise<number> =>
  exec(
    db,
    sql`UPDATE totp_factor SET wrong_codes = least(wrong_codes + 1, 1000), wrong_at = now()
      WHERE account_id = ${accountId} AND user_id = ${userId}`,
  );

export const deleteTotp = (db: Db, { accountId, userId }: FactorOwner): Promise<number> =>
  exec(db, sql`DELETE FROM totp_factor WHERE account_id = ${accountId} AND user_id = ${userId}`);

const insertRecoveryCodes = (db: Db, input: FactorOwner & { hashes: readonly Buffer[] }): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO recovery_code (account_id, user_id, code_hash)
      SELECT ${input.accountId}, ${input.userId}, hash FROM unnest(${input.hashes}::bytea[]) AS hash`,
  );

/** Deletes one code, which uses it up. Returns 0 if the user has no such code. */
const deleteRecoveryCode = (db: Db, input: FactorOwner & { hash: Buffer }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM recovery_code
      WHERE account_id = ${input.accountId} AND user_id = ${input.userId} AND code_hash = ${input.hash}`,
  );

export const deleteRecoveryCodes = (db: Db, { accountId, userId }: FactorOwner): Promise<number> =>
  exec(db, sql`DELETE FROM recovery_code WHERE account_id = ${accountId} AND user_id = ${userId}`);

const PASSKEY = columns({
  id: as<number>('k.id'),
  credentialId: as<Buffer>('k.credential_id'),
  transports: as<string[]>('k.transports'),
  name: as<string>('k.name'),
  createdAt: as<Date>('k.created_at'),
  lastUsedAt: as<Date | null>('k.last_used_at'),
});
export type PasskeyRow = RowOf<typeof PASSKEY>;

/** Lists the passkeys of a user, oldest first. */
export const listPasskeys = (db: Db, { accountId, userId }: FactorOwner): Promise<PasskeyRow[]> =>
  many(
    db,
    sql`SELECT ${PASSKEY} FROM passkey k WHERE k.account_id = ${accountId} AND k.user_id = ${userId} ORDER BY k.id`,
  );

export type NewPasskey = {
  readonly credentialId: Buffer;
  readonly publicKey: Buffer;
  readonly signCount: number;
  readonly transports: readonly string[];
  readonly name: string;
};

/** Inserts a passkey. Returns undefined if a passkey with this id exists, of any user. */
export const insertPasskey = (db: Db, input: FactorOwner & NewPasskey): Promise<PasskeyRow | undefined> =>
  maybeOne(
    db,
    sql`INSERT INTO passkey AS k (account_id, user_id, credential_id, public_key, sign_count, transports, name)
      VALUES (${input.accountId}, ${input.userId}, ${input.credentialId}, ${input.publicKey}, ${input.signCount},
        ${input.transports}::text[], ${input.name})
      ON CONFLICT (credential_id) DO NOTHING
      RETURNING ${PASSKEY}`,
  );

export const deletePasskey = (db: Db, input: FactorOwner & { id: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM passkey
      WHERE account_id = ${input.accountId} AND user_id = ${input.userId} AND id = ${input.id}`,
  );

export const deletePasskeys = (db: Db, { accountId, userId }: FactorOwner): Promise<number> =>
  exec(db, sql`DELETE FROM passkey WHERE account_id = ${accountId} AND user_id = ${userId}`);

const SIGNER = columns({
  passkeyId: as<number>('k.id'),
  credentialId: as<Buffer>('k.credential_id'),
  publicKey: as<Buffer>('k.public_key'),
  signCount: as<number>('k.sign_count'),
  userId: as<number>('u.id'),
  username: as<string>('u.username'),
  role: as<Role>('u.role'),
  isOperator: as<boolean>('u.is_operator'),
  /** True if the user signs in here, and not only at the provider of the account. */
  signsInHere: as<boolean>(PASSWORD_SIGNS_IN),
});
/** A passkey with its user, and what the account allows. */
export type Signer = RowOf<typeof SIGNER> & AccountGate;

/** Finds a passkey of any account by the id that its authenticator gave it. */
export const findSigner = (db: Db, { credentialId }: { credentialId: Buffer }): Promise<Signer | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${SIGNER}, ${GATE}
      FROM passkey k JOIN app_user u ON u.id = k.user_id JOIN account a ON a.id = u.account_id
      WHERE k.credential_id = ${credentialId}`,
  );

/**
 * Records a use of a passkey, of any account. Returns 0 if its counter has moved on in the meantime, as when a copy of
 * the authenticator was used.
 */
export const updateSignCount = (db: Db, input: { id: number; from: number; to: number }): Promise<number> =>
  exec(
    db,
    sql`UPDATE passkey SET sign_count = ${input.to}, last_used_at = now()
      WHERE id = ${input.id} AND sign_count = ${input.from}`,
  );

type ChallengePurpose = 'register' | 'sign-in' | 'second-step' | 'step-up';
/** Validity of a challenge; the browser is given the same time. */
export const CHALLENGE_SECONDS = 300;

/** Challenge for an authenticator. The user is null as long as no user is known. */
export type Challenge = {
  readonly challenge: Buffer;
  readonly purpose: ChallengePurpose;
  readonly userId: number | null;
};

export const insertChallenge = (db: Db, { challenge, purpose, userId }: Challenge): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO passkey_challenge (challenge, purpose, user_id) VALUES (${challenge}, ${purpose}, ${userId})`,
  );

/** Deletes a challenge, which uses it up. Returns 0 if it is unknown, too old, or for another purpose or user. */
export const deleteChallenge = (db: Db, { challenge, purpose, userId }: Challenge): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM passkey_challenge
      WHERE challenge = ${challenge} AND purpose = ${purpose} AND user_id IS NOT DISTINCT FROM ${userId}::bigint
        AND created_at > now() - make_interval(secs => ${CHALLENGE_SECONDS})`,
  );

/** Deletes up to `limit` expired challenges. */
const deleteOldChallenges = (db: Db, { limit }: { limit: number }): Promise<number> =>
  exec(
    db,
    sql`DELETE FROM passkey_challenge WHERE challenge IN (
      SELECT c.challenge FROM passkey_challenge c
      WHERE c.created_at < now() - make_interval(secs => ${CHALLENGE_SECONDS}) LIMIT ${limit})`,
  );
