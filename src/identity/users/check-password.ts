import type { Attempt, LoginLimits } from './login-limits.ts';
import { createPasswordVerifier } from './verifier.ts';

/**
 * Creates a password check within the limits of failed attempts. It resolves when the password is right. Errors: 401
 * when it is wrong or the user does not exist, which takes equally long; 429, also for right passwords, when the
 * attempts are used up; 503 when too many callers wait for a hash.
 */
export function createPasswordCheck(limits: LoginLimits) {
  const verify = createPasswordVerifier();
  return async (attempt: Attempt, password: string, storedHash: string | undefined): Promise<void> => {
    const { username, network, known } = attempt;
    let counted = false;
    const onGuess = (): void => limits.assertAllowed(attempt);
    const onHash = (): void => {
      limits.countAttempt(attempt);
      counted = true;
    };
    const caller = known ? 'known' : 'stranger';
    let right: boolean | undefined;
    try {
      right = await verify({ username, password, storedHash, caller, from: network, onGuess, onHash });
    } finally {
      // Release the slot even when no hash was computed.
      if (counted && right !== false) limits.refund(attempt);
    }
    if (!right) throw limits.failedAttempt(attempt);
  };
}
