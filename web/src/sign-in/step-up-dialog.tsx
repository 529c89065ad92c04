import { Anchor, Button, Divider, Group, PasswordInput, SegmentedControl, Stack, Text } from '@mantine/core';
import { Building2 } from 'lucide-react';
import { useEffect, useEffectEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { canUsePasskeys, useProblemText } from '../api/passkey.ts';
import { ApiError } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { Dialog, DialogWhile } from '../ui/dialog.tsx';
import {
  beginCompanyStepUp,
  CodeField,
  onStepUp,
  PasskeyButton,
  type StepUpProblem,
  stepUp,
  stepUpWithPasskey,
} from './requests.tsx';

type StepUpDialogProps = { readonly opened: boolean; readonly onSettled: (given: boolean) => void };

/** Asks users to confirm who they are, over the page, before an action that requires it. */
export function StepUpDialog({ opened, onSettled }: StepUpDialogProps) {
  const { t } = useTranslation('sign-in');
  return (
    <DialogWhile opened={opened} onClose={() => onSettled(false)}>
      <Dialog title={t('stepUp.title')} size="sm" onTop>
        <Confirm onSettled={onSettled} />
      </Dialog>
    </DialogWhile>
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

/** Opens an empty window immediately: later, browsers would block it as an unsolicited pop-up. */
const openWindow = (): Window | null => window.open('', '_blank', 'popup,width=520,height=700');

/**
 * Confirms with the user's company that it is still the same user, in a separate window, so that input on the page
 * stays. If the browser blocks the window, there is a link to a new tab.
 */
function ConfirmWithCompany({ onConfirmed }: { readonly onConfirmed: () => void }) {
  const { t } = useTranslation('sign-in');
  const [problem, setProblem] = useState<StepUpProblem | null>(null);
  const begin = useAction({ run: begun, quiet: true });
  const ended = useEffectEvent((found: StepUpProblem | null) => {
    begin.reset();
    setProblem(found);
    if (found === null) onConfirmed();
  });
  useEffect(() => onStepUp((found) => ended(found)), []);
  return (
    <Stack gap="xs">
      <Fault error={begin.error} problem={problem} />
      <Button
        leftSection={<Building2 size={16} />}
        loading={begin.busy}
        onClick={() => {
          setProblem(null);
          begin.run(openWindow());
        }}
        data-autofocus
        fullWidth
      >
        {t('stepUp.company.open')}
      </Button>
      {begin.result && <Waiting {...begin.result} />}
    </Stack>
  );
}

type Begun = { readonly url: string; readonly isBlocked: boolean };

async function begun(opened: Window | null): Promise<Begun> {
  try {
    const url = await beginCompanyStepUp();
    opened?.location.replace(url);
    return { url, isBlocked: opened === null };
  } catch (error) {
    opened?.close();
    throw error;
  }
}

function Fault({ error, problem }: { readonly error: unknown; readonly problem: StepUpProblem | null }) {
  const { t } = useTranslation('sign-in');
  const problemText = useProblemText();
  if (error === null && problem === null) return null;
  return (
    <Text size="sm" c="red" role="alert">
      {problem === null ? problemText(error) : t(`stepUp.problem.${problem}`)}
    </Text>
  );
}

function Waiting({ url, isBlocked }: Begun) {
  const { t } = useTranslation('sign-in');
  return (
    <Text size="sm" role="status">
      {t(isBlocked ? 'stepUp.company.blocked' : 'stepUp.company.waiting')}{' '}
      {isBlocked && (
        <Anchor size="sm" href={url} target="_blank" rel="noreferrer">
          {t('stepUp.company.link')}
        </Anchor>
      )}
    </Text>
  );
}
