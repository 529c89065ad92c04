import { AppError } from '../../platform/errors.ts';
import type { Actor, Session } from '../../platform/lib/actor.ts';

/** The part of an actor that decides whether a step-up is needed. */
export type Prover = Pick<Actor, 'session'>;

/**
 * Returns 403 with the code `step_up_required` for a session whose user has not proven their presence within the last
 * ten minutes. Keys and passwords have scopes instead: undefined.
 */
export const stepUpError = ({ session }: Prover): AppError | undefined =>
  session && !session.isProven ? new AppError('step_up_required') : undefined;

/** Throws what `stepUpError` returns, for operations that need a step-up only in some cases. */
export function assertStepUp(actor: Prover): void {
  const error = stepUpError(actor);
  if (error) throw error;
}

/** Returns the session of the caller. Errors: 403 for credentials that are not a session. */
export function sessionOf({ session }: Prover): Session {
  if (!session) throw new AppError('forbidden', { message: 'These credentials are not a session' });
  return session;
}
