import type { Pool } from 'pg';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import type { Session } from '../../platform/lib/actor.ts';
import { MINUTE_MS } from '../../platform/lib/time.ts';
import { findSession, updateProven } from '../sessions/sql.ts';
import { letIn } from './admit.ts';
import { beginSignOn, type Begun, type SignOnDeps } from './begin.ts';
import { type Claims, SignOnFailure } from './settings.ts';
import { findMember, findSettings, isMember, type SettingsRow, type StateRow } from './sql.ts';

/** Maximum lag of a provider's clock behind ours. */
const CLOCK_TOLERANCE_MS = MINUTE_MS;

/**
 * Begins to prove a session at the provider of its user's own account. Errors: 404 unless the user signs in with that
 * provider. Rejects with a SignOnFailure when the provider does not respond as it should.
 */
export async function beginStepUp(deps: SignOnDeps, pool: Pool, session: Session): Promise<Begun> {
  const { id: sessionId, accountId, userId } = session;
  const db = tenant(pool, session);
  const settings = await findSettings(db, session);
  if (!settings?.enabled || !(await isMember(db, { accountId, issuer: settings.issuer, userId })))
    throw new AppError('not_found', { message: 'You do not sign in with a provider' });
  return beginSignOn(deps, db, settings, { next: '/', isTrial: false, sessionId });
}

/** A person whom the provider has identified, and the settings of the account. */
type Arrival = { readonly settings: SettingsRow; readonly claims: Claims };

/**
 * Records for ten minutes that the user of the session is present, who has just signed in at the provider. The rules of
 * a sign-in apply, so that the role follows the groups here, too. Rejects with a SignOnFailure for another person, for
 * one whom the settings do not allow, and if the provider states that the person signed in before the step-up began.
 */
export async function proveSession(
  pool: Pool,
  { settings, claims }: Arrival,
  { sessionId, begunAt }: Pick<StateRow, 'begunAt'> & { readonly sessionId: number },
): Promise<void> {
  const { accountId, issuer } = settings;
  const { subject, authenticatedAt } = claims;
  if (authenticatedAt !== null && authenticatedAt.getTime() < begunAt.getTime() - CLOCK_TOLERANCE_MS)
    throw new SignOnFailure('untrusted', 'the provider did not ask the person to sign in again');
  const db = tenant(pool, settings);
  const session = await findSession(db, { accountId, id: sessionId });
  if (!session) throw new SignOnFailure('expired', 'the session has ended');
  const member = await findMember(db, { accountId, issuer, subject });
  if (member?.id !== session.userId) throw new SignOnFailure('not_allowed', 'another person signed in at the provider');
  await letIn(pool, { settings, claims });
  const updated = await tenantTransaction(pool, settings, (tx) => updateProven(tx, { accountId, id: sessionId }));
  if (updated === 0) throw new SignOnFailure('expired', 'the session has ended');
}
