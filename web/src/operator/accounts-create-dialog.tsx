import { Checkbox, Group, NumberInput, SegmentedControl, Stack, Text, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { SecretOnce } from '../ui/actions.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ButtonLink } from '../ui/parts.tsx';
import { ACCOUNT_KEYS, ACCOUNTS, CHANNELS, PLANS } from './account.tsx';

type NewAccount = {
  readonly name: string;
  readonly plan: (typeof PLANS)[number];
  readonly credit: number | string;
  readonly channels: (typeof CHANNELS)[number][];
};

const create = ({ credit, ...rest }: NewAccount) =>
  ok(api.POST(ACCOUNTS, { body: { ...rest, ...(credit !== '' && { credit: Number(credit) }) } }));

/** Dialog that creates an account with its owner and first API key, whose secrets are shown once. */
export function CreateDialog() {
  const { t } = useTranslation('operator');
  return (
    <FormDialog<NewAccount, Awaited<ReturnType<typeof create>>>
      title={t('account.create.title')}
      size="lg"
      values={{ name: '', plan: 'production', credit: '', channels: [...CHANNELS] }}
      validate={{ name: (name) => (name.trim() === '' ? t('account.create.nameMissing') : null) }}
      run={create}
      refresh={ACCOUNT_KEYS}
      action={t('account.create.submit')}
      result={({ accountId, name, username, password, apiKey }) => (
        <>
          <Text size="sm">{t('account.create.made', { name, username })}</Text>
          <SecretOnce
            label={t('account.create.password')}
            secret={password}
            note={t('account.create.passwordNote', { username })}
          />
          <SecretOnce label={t('account.create.apiKey')} secret={apiKey} note={t('account.create.apiKeyNote')} />
          <ButtonLink to={`/operator/accounts/${accountId}`} variant="default" w="fit-content">
            {t('account.create.see')}
          </ButtonLink>
        </>
      )}
      finish={t('copiedIt')}
    >
      {(form) => (
        <>
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
              {t(`account.planHint.${form.values.plan}`)}
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
        </>
      )}
    </FormDialog>
  );
}
