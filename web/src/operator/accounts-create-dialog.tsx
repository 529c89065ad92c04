import { Button, Checkbox, Group, NumberInput, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { SecretOnce } from '../ui/actions.tsx';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { ButtonLink } from '../ui/parts.tsx';
import { ACCOUNT_KEYS, ACCOUNTS, CHANNELS, PLANS } from './account.tsx';

type CreateDialogProps = { readonly onClose: () => void };

/** Dialog that creates an account with its owner and first API key, whose secrets are shown once. */
export function CreateDialog({ onClose }: CreateDialogProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('account.create.title')}>
      <Create onClose={onClose} />
    </Dialog>
  );
}

type NewAccount = {
  readonly name: string;
  readonly plan: (typeof PLANS)[number];
  readonly credit: number | string;
  readonly channels: (typeof CHANNELS)[number][];
};

const create = ({ credit, ...rest }: NewAccount) =>
  ok(api.POST(ACCOUNTS, { body: { ...rest, ...(credit !== '' && { credit: Number(credit) }) } }));

function Create({ onClose }: CreateDialogProps) {
  const { t } = useTranslation('operator');
  const form = useForm<NewAccount>({
    initialValues: { name: '', plan: 'production', credit: '', channels: [...CHANNELS] },
    validate: { name: (name) => (name.trim() === '' ? t('account.create.nameMissing') : null) },
  });
  const creating = useAction({ run: create, refresh: ACCOUNT_KEYS, form });
  if (creating.result !== undefined) return <Created created={creating.result} onClose={onClose} />;
  const { plan } = form.getValues();
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => creating.run(values))}
      action={t('account.create.submit')}
      busy={creating.busy}
      onClose={onClose}
    >
      <TextInput label={t('account.name')} maxLength={200} data-autofocus {...form.getInputProps('name')} />
      <Stack gap={4}>
        <Text size="sm" fw={500} id="new-account-plan">
          {t('account.plan')}
        </Text>
        <SegmentedControl
          aria-labelledby="new-account-plan"
          data={PLANS.map((value) => ({ value, label: t(`app:plan.${value}`) }))}
          {...form.getInputProps('plan')}
        />
        <Text size="xs" c="dimmed">
          {t(`account.planHint.${plan}`)}
        </Text>
      </Stack>
      <NumberInput
        label={t('account.create.credit')}
        description={t('account.create.creditHint')}
        min={0}
        decimalScale={6}
        hideControls
        {...form.getInputProps('credit')}
      />
      <Checkbox.Group label={t('account.channels')} {...form.getInputProps('channels')}>
        <Group mt="xs">
          {CHANNELS.map((channel) => (
            <Checkbox key={channel} value={channel} label={t(`ui:channel.${channel}`)} />
          ))}
        </Group>
      </Checkbox.Group>
    </DialogForm>
  );
}

type CreatedProps = { readonly created: Awaited<ReturnType<typeof create>>; readonly onClose: () => void };

function Created({ created, onClose }: CreatedProps) {
  const { t } = useTranslation('operator');
  return (
    <Stack>
      <Text size="sm">{t('account.create.made', { name: created.name, username: created.username })}</Text>
      <SecretOnce
        label={t('account.create.password')}
        secret={created.password}
        note={t('account.create.passwordNote', { username: created.username })}
      />
      <SecretOnce label={t('account.create.apiKey')} secret={created.apiKey} note={t('account.create.apiKeyNote')} />
      <Group justify="flex-end">
        <ButtonLink to={`/operator/accounts/${created.accountId}`} variant="default">
          {t('account.create.see')}
        </ButtonLink>
        <Button onClick={onClose}>{t('copiedIt')}</Button>
      </Group>
    </Stack>
  );
}
