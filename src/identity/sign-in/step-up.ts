import { tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Session } from '../../platform/lib/actor.ts';
import { checkCode } from '../second-factors/check-code.ts';
import type { RelyingParty } from '../second-factors/passkeys/relying-party.ts';
import type { PasskeyAnswer } from '../second-factors/passkeys/schema.ts';
import { verifyPasskey } from '../second-factors/passkeys/verify.ts';
import { updateProven } from '../sessions/sql.ts';
import type { SignInDeps } from './sign-in.ts';

/** One of the three proofs that the user of a session is present. */
export type Proof = {
  readonly password?: string | undefined;
  readonly code?: string | undefined;
  readonly passkey?: PasskeyAnswer | undefined;
};

/**
 * Records for ten minutes that the user of this session is present, proven by the password, a code or a passkey.
 * Errors: 400 unless there is exactly one proof, naming it if it is wrong (the session itself is valid, so it is not a
 * 401); 429 for too many wrong ones, which are counted with those of sign-ins.
 */
export async function stepUp(
  deps: SignInDeps,
  session: Session,
  proof: Proof,
  { ip, party }: { ip: string; party: RelyingParty },
): Promise<void> {
  const given = (['password', 'code', 'passkey'] as const).filter((kind) => proof[kind] !== undefined);
  const [kind] = given;
  if (kind === undefined || given.length > 1)
    throw invalidFields([{ field: 'password', message: 'or "code" or "passkey" is required, and only one of them' }]);
  const isRight = await isProof(deps, session, proof, { ip, party }).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'unauthenticated') return false;
    throw error;
  });
  if (!isRight) throw invalidFields([{ field: kind, message: 'is not right' }]);
  const { accountId, id } = session;
  const updated = await tenantTransaction(deps.pool, session, (tx) => updateProven(tx, { accountId, id }));
  if (updated === 0) throw new AppError('unauthenticated');
}

async function isProof(
  deps: SignInDeps,
  session: Session,
  { password, code, passkey }: Proof,
  { ip, party }: { ip: string; party: RelyingParty },
): Promise<boolean> {
  const { pool, checkPassword, signInLimits } = deps;
  const { userId, username } = session;
  if (password !== undefined) return (await checkPassword({ username, password }, ip)).actor.userId === userId;
  if (code !== undefined)
    await signInLimits.guess(username, ip, () =>
      tenantTransaction(pool, session, (tx) => checkCode(tx, deps, session, code)),
    );
  if (passkey === undefined) return true;
  const signer = await signInLimits.guess(username, ip, () =>
    verifyPasskey(pool, party, { purpose: 'step-up', userId }, passkey),
  );
  return signer.userId === userId;
}
