import { Button, Divider, Group, PasswordInput, SegmentedControl, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { ApiError } from '../api/errors.ts';
import { canUsePasskeys } from '../api/passkey.ts';
import { useProblemText } from '../api/problem-text.ts';
import { useSession } from '../api/session.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { CodeField } from './code-field.tsx';
import { ConfirmWithCompany } from './confirm-with-company.tsx';
import { PasskeyButton } from './passkey-button.tsx';
import { stepUp, stepUpWithPasskey } from './requests.ts';

type StepUpDialogProps = { readonly opened: boolean; readonly onSettled: (given: boolean) => void };

/** Asks users to confirm who they are, over the page, before an action that requires it. */
export function StepUpDialog({ opened, onSettled }: StepUpDialogProps) {
  const { t } = useTranslation('sign-in');
  return (
    <Dialog opened={opened} onClose={() => onSettled(false)} title={t('stepUp.title')} size="sm" onTop>
      {opened && <Confirm onSettled={onSettled} />}
    </Dialog>
  );
}

type Way = 'password' | 'code';
type Settling = Pick<StepUpDialogProps, 'onSettled'>;

function Confirm({ onSettled }: Settling) {
  const { t } = useTranslation('sign-in');
  const { user, method } = useSession();
  const isOfCompany = method === 'single-sign-on';
  const byPasskey = useAction({ run: stepUpWithPasskey, quiet: true, onDone: () => onSettled(true) });
  return (
    <Stack>
      <Text size="sm">{t('stepUp.text', { username: user.username })}</Text>
      {isOfCompany && (
        <>
          <ConfirmWithCompany onConfirmed={() => onSettled(true)} />
          <Divider label={t('or')} />
        </>
      )}
      <Typed onSettled={onSettled} isFirst={!isOfCompany} />
      {canUsePasskeys() && <OrPasskey busy={byPasskey.busy} error={byPasskey.error} onClick={() => byPasskey.run()} />}
    </Stack>
  );
}

/** Confirms with a password or a code. */
function Typed({ onSettled, isFirst }: Settling & { readonly isFirst: boolean }) {
  const { t } = useTranslation('sign-in');
  const [way, setWay] = useState<Way>('password');
  const [text, setText] = useState('');
  const typed = useAction({
    run: () => stepUp(way === 'password' ? { password: text } : { code: text }),
    quiet: true,
    onDone: () => onSettled(true),
  });
  const fault = useFault(way);
  const error = typed.error === null ? null : fault(typed.error);
  const change = (next: Way): void => {
    setWay(next);
    setText('');
    typed.reset();
  };
  return (
    <Stack>
      <SegmentedControl
        aria-label={t('stepUp.way')}
        data={[
          { value: 'password', label: t('stepUp.password') },
          { value: 'code', label: t('stepUp.code') },
        ]}
        value={way}
        onChange={(value) => change(value as Way)}
      />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text !== '') typed.run();
        }}
      >
        <Stack>
          {way === 'code' ? (
            <CodeField value={text} onChange={setText} error={error} />
          ) : (
            <PasswordInput
              label={t('password.label')}
              autoComplete="current-password"
              visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
              value={text}
              onChange={(event) => setText(event.currentTarget.value)}
              error={error}
              data-autofocus={isFirst || undefined}
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={() => onSettled(false)}>
              {t('ui:cancel')}
            </Button>
            <Button type="submit" loading={typed.busy}>
              {t('stepUp.submit')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Stack>
  );
}

type OrPasskeyProps = { readonly busy: boolean; readonly error: unknown; readonly onClick: () => void };

function OrPasskey({ busy, error, onClick }: OrPasskeyProps) {
  const { t } = useTranslation('sign-in');
  const problemText = useProblemText();
  const isWrong = error instanceof ApiError && error.details.length > 0;
  return (
    <>
      <Divider label={t('or')} />
      {error !== null && (
        <Text size="sm" c="red" role="alert">
          {isWrong ? t('passkey.wrong') : problemText(error)}
        </Text>
      )}
      <PasskeyButton busy={busy} onClick={onClick} />
    </>
  );
}

/** Returns a function that describes the error of a password or a code. */
function useFault(way: Way): (error: unknown) => string {
  const { t } = useTranslation('sign-in');
  const problemText = useProblemText();
  return (error) =>
    error instanceof ApiError && error.details.length > 0
      ? t(way === 'password' ? 'stepUp.wrongPassword' : 'code.wrong')
      : problemText(error);
}
