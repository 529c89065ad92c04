import { api, ok } from '../api/client.ts';
import { answerWithPasskey } from '../api/passkey.ts';
import type { Session } from '../api/session.ts';

const SESSION = '/api/partner-gateway/v1/session';

export type Credentials = { readonly username: string; readonly password: string };

type Answer = Awaited<ReturnType<typeof signIn>>;
/** A sign-in whose password was right and that needs a second factor. */
export type Pending = Extract<Answer, { pendingToken: string }>;

export const signIn = (body: Credentials) => ok(api.POST(SESSION, { body }));

export const isPending = (answer: Answer): answer is Pending => 'pendingToken' in answer;

export const signInWithCode = ({ pendingToken }: Pending, code: string): Promise<Session> =>
  ok(api.POST(`${SESSION}/second-factor`, { body: { pendingToken, code } }));

/** Signs in with a passkey: as the second factor of a pending sign-in, or alone. */
export async function signInWithPasskey(pending: Pending | null): Promise<Session> {
  const body = pending === null ? {} : { pendingToken: pending.pendingToken };
  const options = await ok(api.POST(`${SESSION}/passkey-options`, { body }));
  const passkey = await answerWithPasskey(options);
  return ok(api.POST(`${SESSION}/passkey`, { body: { ...body, passkey } }));
}

export type Proving = { readonly password: string } | { readonly code: string };

/** Confirms that it is the user of this session. */
export const stepUp = (body: Proving): Promise<Session> => ok(api.POST(`${SESSION}/step-up`, { body }));

export async function stepUpWithPasskey(): Promise<Session> {
  const options = await ok(api.POST(`${SESSION}/step-up/passkey-options`));
  const passkey = await answerWithPasskey(options);
  return ok(api.POST(`${SESSION}/step-up`, { body: { passkey } }));
}
