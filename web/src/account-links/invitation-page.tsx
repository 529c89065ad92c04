import { Loader, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { Frame, PasswordForm, Problem, tokenOfLink } from './password-form.tsx';

/** The page behind the link of an invitation. */
export function Page() {
  const { t } = useTranslation('account-links');
  const accept = useAction({
    run: (password: string) =>
      ok(api.POST('/api/partner-gateway/v1/invitations/accept', { body: { token: tokenOfLink(), password } })),
    quiet: true,
    signsIn: true,
  });
  if (accept.result !== undefined)
    return (
      <Frame title={t('invitation.title')}>
        <Text role="status">{t('invitation.done', { username: accept.result.username })}</Text>
      </Frame>
    );
  return (
    <Frame title={t('invitation.title')}>
      <Invited>
        <PasswordForm
          action={t('invitation.submit')}
          busy={accept.busy}
          error={accept.error}
          ended={t('invitation.ended')}
          onSubmit={accept.run}
        />
      </Invited>
    </Frame>
  );
}

/** Subject of the invitation, or the reason why the link is not valid. */
function Invited({ children }: { readonly children: React.ReactNode }) {
  const { t } = useTranslation('account-links');
  const token = tokenOfLink();
  const { data, error } = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => ok(api.POST('/api/partner-gateway/v1/invitations/open', { body: { token } })),
    retry: false,
  });
  if (error !== null) return <Problem error={error} ended={t('invitation.ended')} />;
  if (data === undefined) return <Loader aria-label={t('invitation.loading')} mx="auto" />;
  return (
    <>
      <Text size="sm">{t('invitation.text', { account: data.accountName, username: data.username })}</Text>
      {children}
    </>
  );
}
