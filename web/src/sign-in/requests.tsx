import { Button, TextInput } from '@mantine/core';
import { KeyRound } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { answerWithPasskey } from '../api/passkey.ts';
import { api, ok } from '../api/send.ts';
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

type Proving = { readonly password: string } | { readonly code: string };

/** Confirms that it is the user of this session. */
export const stepUp = (body: Proving): Promise<Session> => ok(api.POST(`${SESSION}/step-up`, { body }));

export async function stepUpWithPasskey(): Promise<Session> {
  const options = await ok(api.POST(`${SESSION}/step-up/passkey-options`));
  const passkey = await answerWithPasskey(options);
  return ok(api.POST(`${SESSION}/step-up`, { body: { passkey } }));
}

/** Reason why a step-up at the company has failed: a key under `stepUp.problem`. */
export type StepUpProblem = string;

const PROBLEMS = ['expired', 'cancelled', 'unavailable', 'untrusted', 'not_allowed'];

/** Returns the problem that a URL names, if it is one of ours: anyone can write a URL. */
export const knownProblem = (text: unknown): StepUpProblem | null =>
  typeof text === 'string' && PROBLEMS.includes(text) ? text : null;

/** Returns the URL at which the user signs in to their company once more. */
export async function beginCompanyStepUp(): Promise<string> {
  const { authorizeUrl } = await ok(api.POST('/api/partner-gateway/v1/session/step-up/single-sign-on'));
  return authorizeUrl;
}

// The window at the company cannot reach the one that opened it: the policy of our pages separates them
// (cross-origin-opener-policy). Only pages of this origin can listen on the channel.
const CHANNEL = 'heliograph-step-up';

/** Announces the end of a step-up to the pages that wait for one; null: it has succeeded. */
export function announceStepUp(problem: StepUpProblem | null): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(problem);
  channel.close();
}

/** Calls back at the end of each step-up in another window; returns a function that ends it. */
export function onStepUp(ended: (problem: StepUpProblem | null) => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', ({ data }) => ended(data === null ? null : (knownProblem(data) ?? 'expired')));
  return () => channel.close();
}

type CodeFieldProps = {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string | null;
};

/** The field for a code of the authenticator app or a recovery code; browsers and phones fill in the former. */
export function CodeField({ value, onChange, error }: CodeFieldProps) {
  const { t } = useTranslation('sign-in');
  return (
    <TextInput
      label={t('code.label')}
      description={t('code.hint')}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
      autoComplete="one-time-code"
      autoCapitalize="none"
      spellCheck={false}
      maxLength={40}
      data-autofocus
      autoFocus
    />
  );
}

/** The button that asks for a passkey. */
export function PasskeyButton({ busy, onClick }: { readonly busy: boolean; readonly onClick: () => void }) {
  const { t } = useTranslation('sign-in');
  return (
    <Button variant="default" leftSection={<KeyRound size={16} />} loading={busy} onClick={onClick} fullWidth>
      {t('passkey.use')}
    </Button>
  );
}
