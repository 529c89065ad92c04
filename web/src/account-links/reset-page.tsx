import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { Frame, PasswordForm, tokenOfLink } from './password-form.tsx';

/** The page behind the link to a new password. */
export function Page() {
  const { t } = useTranslation('account-links');
  const reset = useAction({
    run: (password: string) =>
      ok(api.POST('/api/partner-gateway/v1/password-reset/confirm', { body: { token: tokenOfLink(), password } })).then(
        () => true,
      ),
    quiet: true,
    signsIn: true,
  });
  return (
    <Frame title={t('reset.title')}>
      {reset.result === true ? (
        <Text role="status">{t('reset.done')}</Text>
      ) : (
        <PasswordForm
          action={t('reset.submit')}
          busy={reset.busy}
          error={reset.error}
          ended={t('reset.ended')}
          onSubmit={reset.run}
        />
      )}
    </Frame>
  );
}
