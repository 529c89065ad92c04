import { Alert, Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { canUsePasskeys, useProblemText } from '../api/passkey.ts';
import { ApiError } from '../api/send.ts';
import type { Session } from '../api/session.ts';
import {
  CodeField,
  type Credentials,
  isPending,
  PasskeyButton,
  type Pending,
  signIn,
  signInWithCode,
  signInWithPasskey,
} from './requests.tsx';

type PasswordStepProps = {
  readonly username: string;
  readonly onSignedIn: (session: Session) => void;
  readonly onPending: (pending: Pending) => void;
};

/** Asks for username and password, or for a passkey. */
function PasswordStep({ username, onSignedIn, onPending }: PasswordStepProps) {
  const { t } = useTranslation('sign-in');
  const form = useForm<Credentials>({
    initialValues: { username, password: '' },
    validate: {
      username: (value) => (value.trim() === '' ? t('username.missing') : null),
      password: (value) => (value === '' ? t('password.missing') : null),
    },
  });
  const byPassword = useAction({
    run: signIn,
    quiet: true,
    signsIn: true,
    onDone: (answer) => (isPending(answer) ? onPending(answer) : onSignedIn(answer)),
  });
  const byPasskey = useAction({
    run: () => signInWithPasskey(null),
    quiet: true,
    signsIn: true,
    onDone: (session) => onSignedIn(session),
  });
  return (
    <Stack>
      <form
        onSubmit={form.onSubmit((values) => {
          byPasskey.reset();
          byPassword.run(values);
        })}
      >
        <Stack>
          <Refused error={byPassword.error} wrong={t('wrong')} />
          <TextInput
            label={t('username.label')}
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            {...form.getInputProps('username')}
          />
          <PasswordInput
            label={t('password.label')}
            autoComplete="current-password"
            visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
            {...(username !== '' && { 'data-autofocus': true })}
            {...form.getInputProps('password')}
          />
          <Button type="submit" loading={byPassword.busy} fullWidth>
            {t('submit')}
          </Button>
        </Stack>
      </form>
      {canUsePasskeys() && (
        <>
          <Divider label={t('or')} />
          <Refused error={byPasskey.error} wrong={t('passkey.wrong')} />
          <PasskeyButton
            busy={byPasskey.busy}
            onClick={() => {
              byPassword.reset();
              byPasskey.run();
            }}
          />
        </>
      )}
    </Stack>
  );
}

type SecondStepProps = {
  readonly pending: Pending;
  readonly onSignedIn: (session: Session) => void;
  readonly onRestart: () => void;
};

/** Asks for the second factor, after the password was right. */
function SecondStep({ pending, onSignedIn, onRestart }: SecondStepProps) {
  const { t } = useTranslation('sign-in');
  const [code, setCode] = useState('');
  const shared = { quiet: true, signsIn: true, onDone: (session: Session) => onSignedIn(session) };
  const byCode = useAction({ run: () => signInWithCode(pending, code), ...shared });
  const byPasskey = useAction({ run: () => signInWithPasskey(pending), ...shared });
  const hasPasskey = pending.factors.includes('passkey') && canUsePasskeys();
  const hasEnded = [byCode.error, byPasskey.error].some((error) => error instanceof ApiError && error.status === 404);
  return (
    <Stack>
      <Text size="sm">{t(pending.factors.includes('totp') ? 'second.text' : 'second.passkeyText')}</Text>
      <Refused error={byCode.error ?? byPasskey.error} wrong={t(byCode.error ? 'code.wrong' : 'passkey.wrong')} />
      {hasPasskey && (
        <PasskeyButton
          busy={byPasskey.busy}
          onClick={() => {
            byCode.reset();
            byPasskey.run();
          }}
        />
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          byPasskey.reset();
          if (code.trim() !== '') byCode.run();
        }}
      >
        <Stack>
          <CodeField value={code} onChange={setCode} />
          <Button type="submit" loading={byCode.busy} disabled={hasEnded} fullWidth>
            {t('submit')}
          </Button>
        </Stack>
      </form>
      <Button variant="subtle" onClick={onRestart}>
        {t('second.restart')}
      </Button>
    </Stack>
  );
}

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

/** Reason why a sign-in was denied; `wrong` is the text for wrong input. */
function Refused({ error, wrong }: { readonly error: unknown; readonly wrong: string }) {
  const problemText = useProblemText();
  if (error === null) return null;
  const isWrong = error instanceof ApiError && error.status === 401;
  return (
    <Alert color="red" role="alert">
      {isWrong ? wrong : problemText(error)}
    </Alert>
  );
}
