import { Checkbox, Group, NativeSelect, NumberInput, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { sessionQuery } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { useFormat } from '../ui/format.ts';
import { Section } from '../ui/parts.tsx';
import { ACCOUNT_KEYS, ACCOUNTS, type AccountDetails, CHANNELS, PLANS } from './account.tsx';
import { OPERATOR } from './shared.tsx';

type Values = {
  readonly name: string;
  readonly plan: AccountDetails['plan'];
  readonly channels: AccountDetails['channels'];
  /** '' means that the plan's value applies. */
  readonly ratePerMinute: number | string;
  readonly ratePerSecond: number | string;
  readonly contactLimits: { readonly planLimit: number | string; readonly extraLimit: number | string };
  readonly defaultCountry: string;
  readonly numberChecks: AccountDetails['numberChecks'];
};

const valuesOf = (account: AccountDetails): Values => ({
  name: account.name,
  plan: account.plan,
  channels: account.channels,
  ratePerMinute: account.ratePerMinute ?? '',
  ratePerSecond: account.ratePerSecond ?? '',
  contactLimits: { planLimit: account.contactLimits.planLimit ?? '', extraLimit: account.contactLimits.extraLimit },
  defaultCountry: account.defaultCountry ?? '',
  numberChecks: account.numberChecks,
});

const orNull = (figure: number | string): number | null => (figure === '' ? null : Number(figure));

const bodyOf = ({ contactLimits, ...values }: Values) => ({
  ...values,
  ratePerMinute: orNull(values.ratePerMinute),
  ratePerSecond: orNull(values.ratePerSecond),
  contactLimits: { planLimit: orNull(contactLimits.planLimit), extraLimit: Number(contactLimits.extraLimit) },
  defaultCountry: values.defaultCountry.trim() || null,
});

/** The form for the account's plan and limits. */
export function SettingsForm({ account }: { readonly account: AccountDetails }) {
  const { t } = useTranslation('operator');
  const { id } = account;
  const form = useForm<Values>({ initialValues: valuesOf(account) });
  const saving = useAction({
    run: (values: Values) => ok(api.PUT(`${ACCOUNTS}/{id}`, { params: { path: { id } }, body: bodyOf(values) })),
    refresh: [...ACCOUNT_KEYS, sessionQuery.queryKey],
    done: t('settings.saved'),
    form,
    onDone(saved) {
      form.setInitialValues(valuesOf(saved));
      form.setValues(valuesOf(saved));
    },
  });
  return (
    <Section title={t('settings.title')} description={t('settings.description')}>
      <form onSubmit={form.onSubmit((values) => saving.run(values))}>
        <Stack>
          <Fields form={form} account={account} />
          <Group justify="flex-end">
            <GuardedButton
              need={OPERATOR}
              type="submit"
              loading={saving.busy}
              reason={!form.isDirty() && t('settings.unchanged')}
            >
              {t('ui:save')}
            </GuardedButton>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

type FieldsProps = { readonly form: ReturnType<typeof useForm<Values>>; readonly account: AccountDetails };

function Fields({ form, account }: FieldsProps) {
  const { t } = useTranslation('operator');
  const { plan } = form.getValues();
  return (
    <>
      <TextInput label={t('account.name')} maxLength={200} {...form.getInputProps('name')} />
      <NativeSelect
        label={t('account.plan')}
        description={t(`account.planHint.${plan}`)}
        data={PLANS.map((value) => ({ value, label: t(`app:plan.${value}`) }))}
        {...form.getInputProps('plan')}
      />
      <Checkbox.Group
        label={t('account.channels')}
        description={t('settings.channelsHint')}
        {...form.getInputProps('channels')}
      >
        <Group mt="xs">
          {CHANNELS.map((channel) => (
            <Checkbox key={channel} value={channel} label={t(`ui:channel.${channel}`)} />
          ))}
        </Group>
      </Checkbox.Group>
      <Limits form={form} account={account} />
    </>
  );
}

function Limits({ form, account: { contactLimits } }: FieldsProps) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const used = t('settings.contactsUsed', { count: contactLimits.used, shown: format.number(contactLimits.used) });
  const figure = { min: 0, allowDecimal: false, hideControls: true, thousandSeparator: ' ' } as const;
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <NumberInput
        {...figure}
        label={t('settings.perMinute')}
        description={t('settings.perMinuteHint')}
        placeholder={t('settings.ofPlan')}
        {...form.getInputProps('ratePerMinute')}
      />
      <NumberInput
        {...figure}
        label={t('settings.perSecond')}
        description={t('settings.perSecondHint')}
        placeholder={t('settings.ofPlan')}
        {...form.getInputProps('ratePerSecond')}
      />
      <NumberInput
        {...figure}
        label={t('settings.contactLimit')}
        description={used}
        placeholder={t('settings.noLimit')}
        {...form.getInputProps('contactLimits.planLimit')}
      />
      <NumberInput
        {...figure}
        label={t('settings.extraContacts')}
        description={t('settings.extraContactsHint')}
        {...form.getInputProps('contactLimits.extraLimit')}
      />
      <TextInput
        label={t('settings.country')}
        description={t('settings.countryHint')}
        maxLength={2}
        {...form.getInputProps('defaultCountry')}
      />
      <NativeSelect
        label={t('settings.numberChecks')}
        data={(['strict', 'lenient'] as const).map((value) => ({ value, label: t(`settings.${value}`) }))}
        {...form.getInputProps('numberChecks')}
      />
    </SimpleGrid>
  );
}
