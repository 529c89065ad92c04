import { Button, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { type Session, sessionQuery } from '../api/session.ts';
import { Dialog, DialogWhile } from '../ui/dialog.tsx';
import { SignInForm } from './password-step.tsx';

type SignInAgainProps = { readonly opened: boolean; readonly onSettled: (given: boolean) => void };

/**
 * Asks a user whose session has ended to sign in again, over the page and its input. Another user who signs in instead
 * gets a fresh page, with nothing of the first one.
 */
export function SignInAgain({ opened, onSettled }: SignInAgainProps) {
  const { t } = useTranslation('sign-in');
  const queries = useQueryClient();
  const before = queries.getQueryData(sessionQuery.queryKey);
  const proceed = async (session: Session): Promise<void> => {
    const now = before && (await inSameAccount(before, session));
    if (!now) return location.reload();
    queries.setQueryData(sessionQuery.queryKey, now);
    onSettled(true);
  };
  return (
    <DialogWhile opened={opened} onClose={() => onSettled(false)}>
      <Dialog title={t('again.title')} size="sm" locked onTop>
        <Stack>
          <Text size="sm">{t('again.text')}</Text>
          <SignInForm username={before?.user.username} onSignedIn={(session) => void proceed(session)} />
          <Button variant="subtle" color="gray" onClick={() => onSettled(false)}>
            {t('again.leave')}
          </Button>
        </Stack>
      </Dialog>
    </DialogWhile>
  );
}

/**
 * Returns the session in the account that was shown before: an operator's new session begins in their own, and waiting
 * requests were meant for the other one. Returns null for another user.
 */
async function inSameAccount(before: Session, session: Session): Promise<Session | null> {
  if (session.user.id !== before.user.id || session.mustEnrol) return null;
  const { id: accountId } = before.account;
  if (session.account.id === accountId) return session;
  const switching = ok(api.PUT('/api/partner-gateway/v1/session/account', { body: { accountId } }));
  return switching.catch(() => null);
}
