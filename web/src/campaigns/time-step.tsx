import { NativeSelect, NumberInput, Radio, SimpleGrid, Stack, Switch, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { DateField } from '../ui/date-field.tsx';
import { api, ok } from '../api/send.ts';
import { useFormat } from '../ui/format.ts';
import { Muted, Section } from '../ui/parts.tsx';
import { ownZone, TimeZoneField } from '../ui/time-zone.tsx';
import { usePurposes } from '../ui/values.tsx';
import { scheduledAt } from './draft.ts';
import type { DraftForm } from './use-editor.ts';

type FormProps = { readonly form: DraftForm };

/** The step for the send time, quiet hours and speed. */
export function TimeStep({ form }: FormProps) {
  const { t } = useTranslation('campaigns');
  return (
    <Stack mt="md">
      <Section title={t('time.title')}>
        <Radio.Group aria-label={t('time.title')} {...form.getInputProps('when')}>
          <Stack gap="sm">
            <Radio value="now" label={t('time.now')} description={t('time.nowHint')} />
            <Radio value="later" label={t('time.later')} description={t('time.laterHint')} />
            <Radio value="local" label={t('time.local')} description={t('time.localHint')} />
          </Stack>
        </Radio.Group>
        {form.getValues().when === 'later' && <Moment form={form} />}
        {form.getValues().when === 'local' && <LocalTime form={form} />}
      </Section>
      <Section title={t('quiet.title')} description={t('quiet.hint')}>
        <Quiet form={form} />
      </Section>
      <Section title={t('calendar.title')} description={t('calendar.hint')}>
        <Calendar form={form} />
      </Section>
      <Section title={t('rate.title')} description={t('rate.hint')}>
        <NumberInput
          label={t('rate.label')}
          placeholder={t('rate.none')}
          min={1}
          max={100_000}
          allowDecimal={false}
          w={{ base: '100%', xs: 260 }}
          {...form.getInputProps('rate')}
          onChange={(value) => form.setFieldValue('rate', typeof value === 'number' ? value : '')}
        />
      </Section>
    </Stack>
  );
}

function LocalTime({ form }: FormProps) {
  const { t } = useTranslation('campaigns');
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} maw={560}>
      <DateField withTime label={t('time.localAt')} withAsterisk {...form.getInputProps('wallTime')} />
      <NativeSelect
        label={t('time.passed')}
        data={[
          { value: 'tomorrow', label: t('time.passedTomorrow') },
          { value: 'now', label: t('time.passedNow') },
          { value: 'skip', label: t('time.passedSkip') },
        ]}
        {...form.getInputProps('passed')}
      />
    </SimpleGrid>
  );
}

function Moment({ form }: FormProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { zone } = form.getValues();
  const at = scheduledAt(form.getValues());
  return (
    <Stack gap="xs">
      <SimpleGrid cols={{ base: 1, xs: 2 }} maw={560}>
        <DateField withTime label={t('time.at')} withAsterisk {...form.getInputProps('wallTime')} />
        <TimeZoneField label={t('time.zone')} {...form.getInputProps('zone')} />
      </SimpleGrid>
      {at !== null && zone !== ownZone() && <Muted>{t('time.here', { at: format.exact(at) })}</Muted>}
    </Stack>
  );
}

function Calendar({ form }: FormProps) {
  const { t } = useTranslation('campaigns');
  const purposes = usePurposes();
  const { purpose, respectCalendar } = form.getValues();
  return (
    <Stack gap="sm">
      <NativeSelect
        label={t('ui:purpose.label')}
        w={{ base: '100%', xs: 360 }}
        data={purposes}
        {...form.getInputProps('purpose')}
      />
      <Switch
        label={t('calendar.respect')}
        checked={respectCalendar ?? purpose === 'marketing'}
        onChange={(event) => form.setFieldValue('respectCalendar', event.currentTarget.checked)}
      />
      <NumberInput
        label={t('calendar.cap')}
        description={t('calendar.capHint')}
        min={1}
        max={1000}
        allowDecimal={false}
        w={{ base: '100%', xs: 360 }}
        {...form.getInputProps('weeklyCap')}
        onChange={(value) => form.setFieldValue('weeklyCap', typeof value === 'number' ? value : '')}
      />
    </Stack>
  );
}

function Quiet({ form }: FormProps) {
  const { t } = useTranslation('campaigns');
  const { data } = useQuery({
    queryKey: ['campaign-policy'],
    queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/account/campaigns', { signal })),
  });
  const hours = data?.quietHours;
  const { quiet } = form.getValues();
  return (
    <Stack gap="sm">
      <NativeSelect
        label={t('quiet.label')}
        w={{ base: '100%', xs: 360 }}
        data={[
          { value: 'account', label: hours ? t('quiet.account', hours) : t('quiet.accountNone') },
          { value: 'own', label: t('quiet.own') },
          { value: 'off', label: t('quiet.off') },
        ]}
        {...form.getInputProps('quiet')}
      />
      {quiet === 'own' && (
        <SimpleGrid cols={2} maw={360}>
          <TextInput type="time" label={t('quiet.from')} {...form.getInputProps('quietFrom')} />
          <TextInput type="time" label={t('quiet.to')} {...form.getInputProps('quietTo')} />
        </SimpleGrid>
      )}
    </Stack>
  );
}
