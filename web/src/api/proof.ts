import { ApiError } from './errors.ts';

/** Proof that the server requires of the user: to sign in again, or to confirm that it is still the same user. */
export type Proof = 'sign-in' | 'step-up';

/** Asks the user; resolves with true if the proof was given. */
type Asker = (proof: Proof) => Promise<boolean>;

let asker: Asker | null = null;
const asked = new Map<Proof, Promise<boolean>>();

/**
 * Sets the function that asks a signed-in user for proof; returns a function that unsets it. Without one, errors stay
 * errors, as on the sign-in page.
 */
export function askWith(next: Asker): () => void {
  asker = next;
  return () => {
    if (asker === next) asker = null;
  };
}

/** Returns the proof that a response requires; null for all other errors. */
export function proofFor(error: unknown): Proof | null {
  if (!(error instanceof ApiError)) return null;
  if (error.status === 401) return 'sign-in';
  return error.code === 'step_up_required' ? 'step-up' : null;
}

/** Asks the user for a proof, once for all requests that wait for it. Resolves with true to send them again. */
export function userProves(proof: Proof): Promise<boolean> {
  const running = asked.get(proof);
  if (running) return running;
  const asking = asker?.(proof).finally(() => asked.delete(proof)) ?? Promise.resolve(false);
  if (asker !== null) asked.set(proof, asking);
  return asking;
}
