import type { Attempt, LoginLimits } from './login-limits.ts';
import { createPasswordVerifier } from './verifier.ts';

/**
 * Compares passwords within the limits of failed attempts. Resolves when the password is right.
 * Errors: 401 when it is wrong or there is no such user, which takes as long; 429 when the tries are used up, then for
 * right ones too; 503 when too many wait for a hash.
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
    const lane = known ? 'known' : 'stranger';
    let right: boolean | undefined;
    try {
      right = await verify({ username, password, storedHash, lane, from: network, onGuess, onHash });
    } finally {
      // Also when there was no hash in the end.
      if (counted && right !== false) limits.refund(attempt);
    }
    if (!right) throw limits.failedAttempt(attempt);
  };
}
