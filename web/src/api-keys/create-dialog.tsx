import { Button, Group, Stack, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { type Scope, useSession } from '../api/session.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { SecretOnce } from '../ui/actions/secret-once.tsx';
import { KEYS } from './api-key.ts';
import { SCOPES } from './scope-names.tsx';
import { ScopePicker } from './scope-picker.tsx';

type CreateDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that creates a key. The value is shown once and forgotten when the dialog closes. */
export function CreateDialog({ opened, onClose }: CreateDialogProps) {
  const { t } = useTranslation('api-keys');
  const [isCreated, setCreated] = useState(false);
  const close = (): void => {
    setCreated(false);
    onClose();
  };
  return (
    <Dialog opened={opened} onClose={close} title={t('create.title')} locked={isCreated}>
      {opened && <Create onClose={close} onCreated={() => setCreated(true)} />}
    </Dialog>
  );
}

type NewKey = {
  readonly name: string;
  readonly description: string;
  readonly operations: Scope[];
  readonly expiresAt: string;
};

type CreateProps = Pick<CreateDialogProps, 'onClose'> & { readonly onCreated: () => void };

function Create({ onClose, onCreated }: CreateProps) {
  const { t } = useTranslation('api-keys');
  const { may } = useSession();
  const mine = SCOPES.filter((scope) => may({ scope }));
  const form = useForm<NewKey>({
    initialValues: { name: '', description: '', operations: mine, expiresAt: '' },
    validate: {
      name: (name) => (name.trim() === '' ? t('create.nameMissing') : null),
      operations: (chosen) => (chosen.length === 0 ? t('create.scopeMissing') : null),
    },
  });
  const create = useAction({
    run: ({ expiresAt, ...rest }: NewKey) =>
      ok(api.POST(KEYS, { body: { ...rest, expiresAt: expiresAt === '' ? null : endOfDay(expiresAt) } })),
    refresh: [['api-keys']],
    form,
    onDone: onCreated,
  });
  if (create.result !== undefined) return <Created secret={create.result.apiKey} onClose={onClose} />;
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => create.run(values))}
      action={t('create.submit')}
      busy={create.busy}
      onClose={onClose}
    >
      <TextInput
        label={t('column.name')}
        description={t('create.nameHint')}
        maxLength={200}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Textarea
        label={t('create.description')}
        maxLength={1000}
        autosize
        minRows={2}
        {...form.getInputProps('description')}
      />
      <ScopePicker {...form.getInputProps('operations')} />
      <TextInput
        type="date"
        label={t('create.expiresAt')}
        description={t('create.expiresHint')}
        {...form.getInputProps('expiresAt')}
      />
    </DialogForm>
  );
}

const endOfDay = (day: string): string => new Date(`${day}T23:59:59`).toISOString();

function Created({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  const { t } = useTranslation('api-keys');
  return (
    <Stack>
      <SecretOnce label={t('key')} secret={secret} />
      <Group justify="flex-end">
        <Button onClick={onClose}>{t('create.done')}</Button>
      </Group>
    </Stack>
  );
}
