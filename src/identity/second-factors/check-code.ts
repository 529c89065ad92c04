import type { Db } from '../../platform/db/query.ts';
import { AppError } from '../../platform/errors.ts';
import type { Clock } from '../../platform/lib/clock.ts';
import { open, type SecretKey } from '../../platform/lib/secret-box.ts';
import { hashOfRecoveryCode } from './recovery-codes.ts';
import {
  deleteRecoveryCode,
  type FactorOwner,
  findTotpForUpdate,
  type TotpRow,
  updateLastStep,
  updateWrongCodes,
} from './sql.ts';
import { stepOfCode } from './totp.ts';

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
