import { Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { FORM_A, type Webhook } from './webhook.ts';

type AddressDialogProps = { readonly webhook: Webhook; readonly opened: boolean; readonly onClose: () => void };

/** Dialog that changes the webhook URL; the secret and the event format stay the same. */
export function AddressDialog({ webhook, opened, onClose }: AddressDialogProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('address.title')}>
      {opened && <Address webhook={webhook} onClose={onClose} />}
    </Dialog>
  );
}

function Address({ webhook, onClose }: Omit<AddressDialogProps, 'opened'>) {
  const { t } = useTranslation('webhooks');
  const form = useForm({ initialValues: { callbackUrl: webhook.callbackUrl } });
  const change = useAction({
    run: (body: { callbackUrl: string }) => ok(api.PUT(FORM_A, { body })),
    refresh: [['webhooks']],
    done: t('address.done'),
    onDone: onClose,
    form,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => change.run(values))}
      action={t('address.submit')}
      busy={change.busy}
      onClose={onClose}
    >
      <TextInput
        label={t('register.url')}
        description={t('register.urlHint')}
        type="url"
        maxLength={2048}
        data-autofocus
        {...form.getInputProps('callbackUrl')}
      />
      <Text size="sm" c="dimmed">
        {t('address.text')}
      </Text>
    </DialogForm>
  );
}
