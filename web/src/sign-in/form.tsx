import { Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Session } from '../api/session.ts';
import { PasswordStep } from './password-step.tsx';
import { SecondStep } from './second-step.tsx';
import type { Pending } from './requests.ts';

type SignInFormProps = {
  readonly onSignedIn: (session: Session) => void;
  /** The user who has to sign in again; any other user may, too. */
  readonly username?: string;
  /** Shown below the first step, and not below the second. */
  readonly below?: ReactNode;
};

/** Signs in: by password and, where the user has one, a second factor, or by a passkey alone. */
export function SignInForm({ onSignedIn, username = '', below }: SignInFormProps) {
  const [pending, setPending] = useState<Pending | null>(null);
  if (pending !== null)
    return <SecondStep pending={pending} onSignedIn={onSignedIn} onRestart={() => setPending(null)} />;
  return (
    <Stack gap="lg">
      <PasswordStep username={username} onSignedIn={onSignedIn} onPending={setPending} />
      {below}
    </Stack>
  );
}
