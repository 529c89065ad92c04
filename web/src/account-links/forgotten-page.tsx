import { Button, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { toLanguage } from '../api/data.ts';
import { api, ok } from '../api/send.ts';
import { Frame, Problem } from './password-form.tsx';

/** The page on which people ask for a link to a new password. */
export function Page() {
  const { t, i18n } = useTranslation('account-links');
  const form = useForm({
    initialValues: { username: '' },
    validate: { username: (value) => (value.trim() === '' ? t('forgotten.missing') : null) },
  });
  const request = useAction({
    run: ({ username }: { username: string }) =>
      ok(
        api.POST('/api/partner-gateway/v1/password-reset', {
          body: { username: username.trim(), language: toLanguage(i18n.language) },
        }),
      ).then(() => true),
    quiet: true,
    signsIn: true,
  });
  if (request.result === true)
    return (
      <Frame title={t('forgotten.title')}>
        <Text role="status">{t('forgotten.sent', { username: form.getValues().username.trim() })}</Text>
      </Frame>
    );
  return (
    <Frame title={t('forgotten.title')}>
      <form onSubmit={form.onSubmit((values) => request.run(values))}>
        <Stack>
          <Problem error={request.error} />
          <Text size="sm">{t('forgotten.text')}</Text>
          <TextInput
            label={t('forgotten.username')}
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            maxLength={200}
            {...form.getInputProps('username')}
          />
          <Button type="submit" loading={request.busy} fullWidth>
            {t('forgotten.submit')}
          </Button>
        </Stack>
      </form>
    </Frame>
  );
}
