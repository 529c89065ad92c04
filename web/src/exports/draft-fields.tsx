import { NativeSelect, SimpleGrid, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import type { Draft } from './draft.ts';

type FieldsProps = { readonly form: UseFormReturnType<Draft> };

const PG = '/api/partner-gateway/v1';
const CHANNELS = ['SMS', 'WHATSAPP', 'RCS'] as const;
/** The maximum number of options in the selects. */
const MAX_OPTIONS = 100;

function SpanFields({ form }: FieldsProps) {
  const { t } = useTranslation('exports');
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <TextInput type="date" label={t('create.from')} {...form.getInputProps('startDateTime')} />
      <TextInput type="date" label={t('create.to')} {...form.getInputProps('endDateTime')} />
    </SimpleGrid>
  );
}

/** The fields for an export of messages: date range, channel, sender and recipient. */
export function HistoryFields({ form }: FieldsProps) {
  const { t } = useTranslation('exports');
  return (
    <>
      <SpanFields form={form} />
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <NativeSelect
          label={t('create.channel')}
          data={[
            { value: '', label: t('create.anyChannel') },
            ...CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) })),
          ]}
          {...form.getInputProps('channel')}
        />
        <TextInput
          label={t('create.sender')}
          placeholder={t('create.anySender')}
          maxLength={100}
          {...form.getInputProps('sender')}
        />
        <TextInput
          label={t('create.recipient')}
          placeholder={t('create.anyRecipient')}
          type="tel"
          maxLength={50}
          {...form.getInputProps('recipient')}
        />
      </SimpleGrid>
    </>
  );
}

/** The fields for an export of contacts: all, or one list. */
export function ContactFields({ form }: FieldsProps) {
  const { t } = useTranslation('exports');
  const { data } = useQuery({
    queryKey: ['lists', 'offered'],
    queryFn: ({ signal }) =>
      ok(api.GET(`${PG}/contacts/list`, { params: { query: { limit: MAX_OPTIONS, sortBy: 'name' } }, signal })),
    enabled: useSession().may({ scope: 'contacts' }),
  });
  return (
    <NativeSelect
      label={t('create.contacts')}
      data={[
        { value: '', label: t('create.allContacts') },
        ...(data?.data ?? []).map(({ id, name }) => ({ value: String(id), label: t('create.list', { name }) })),
      ]}
      {...form.getInputProps('listIds')}
    />
  );
}

/** The fields for a delivery report: one campaign, or a date range. */
export function ReportFields({ form }: FieldsProps) {
  const { t } = useTranslation('exports');
  const { data } = useQuery({
    queryKey: ['campaigns', 'offered'],
    queryFn: ({ signal }) => ok(api.GET(`${PG}/campaigns`, { params: { query: { limit: MAX_OPTIONS } }, signal })),
    enabled: useSession().may({ scope: 'campaigns' }),
  });
  return (
    <>
      <NativeSelect
        label={t('create.messages')}
        data={[
          { value: '', label: t('create.bySpan') },
          ...(data?.data ?? []).map(({ id, name }) => ({ value: String(id), label: t('create.campaign', { name }) })),
        ]}
        {...form.getInputProps('campaignId')}
      />
      {form.values.campaignId === '' && <SpanFields form={form} />}
    </>
  );
}
