import { Button, Group, Radio, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { SecretOnce } from '../ui/actions/secret-once.tsx';
import { FORM_A, FORM_B } from './webhook.ts';

type RegisterDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that registers the webhook. Its secret is shown once and forgotten when the dialog closes. */
export function RegisterDialog({ opened, onClose }: RegisterDialogProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('register.title')}>
      {opened && <Register onClose={onClose} />}
    </Dialog>
  );
}

type NewWebhook = { readonly callbackUrl: string; readonly form: string };

/**
 * Registers the webhook in either format. Format B names the URL field differently; its errors are mapped to the same
 * field.
 */
const register = async ({ callbackUrl, form }: NewWebhook): Promise<{ secret: string }> =>
  form === 'B'
    ? ok(api.POST(FORM_B, { body: { url: callbackUrl, method: 'POST' } }))
    : ok(api.POST(FORM_A, { body: { callbackUrl } }));

function Register({ onClose }: Pick<RegisterDialogProps, 'onClose'>) {
  const { t } = useTranslation('webhooks');
  const form = useForm<NewWebhook>({
    initialValues: { callbackUrl: '', form: 'A' },
    validate: { callbackUrl: (url) => (url.trim() === '' ? t('register.urlMissing') : null) },
  });
  const create = useAction({ run: register, refresh: [['webhooks']], form });
  if (create.result !== undefined) return <NewSecret secret={create.result.secret} onClose={onClose} />;
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => create.run(values))}
      action={t('register.submit')}
      busy={create.busy}
      onClose={onClose}
    >
      <TextInput
        label={t('register.url')}
        description={t('register.urlHint')}
        placeholder="https://example.com/events"
        type="url"
        maxLength={2048}
        data-autofocus
        {...form.getInputProps('callbackUrl')}
      />
      <Radio.Group label={t('register.form')} {...form.getInputProps('form')}>
        <Stack gap="sm" mt="xs">
          {(['A', 'B'] as const).map((each) => (
            <Radio key={each} value={each} label={t(`form.${each}.title`)} description={t(`form.${each}.text`)} />
          ))}
        </Stack>
      </Radio.Group>
    </DialogForm>
  );
}

type NewSecretProps = { readonly secret: string; readonly note?: string; readonly onClose: () => void };

/** A new secret with a note about its use. */
export function NewSecret({ secret, note, onClose }: NewSecretProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Stack>
      <SecretOnce label={t('secret.label')} secret={secret} note={note ?? t('secret.note')} />
      <Group justify="flex-end">
        <Button onClick={onClose}>{t('secret.done')}</Button>
      </Group>
    </Stack>
  );
}
