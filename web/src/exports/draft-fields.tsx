import { NativeSelect, SimpleGrid, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { DateField } from '../ui/date-field.tsx';
import { dayValue } from '../ui/date-text.ts';
import { CampaignSelect, ListSelect } from '../ui/list-select.tsx';

type FieldsProps = { readonly form: UseFormReturnType<Draft> };

const CHANNELS = ['SMS', 'WHATSAPP', 'RCS'] as const;

function SpanFields({ form }: FieldsProps) {
  const { t } = useTranslation('exports');
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <DateField label={t('create.from')} {...form.getInputProps('startDateTime')} />
      <DateField label={t('create.to')} {...form.getInputProps('endDateTime')} />
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
  return (
    <ListSelect
      label={t('create.contacts')}
      first={[{ value: '', label: t('create.allContacts') }]}
      value={form.values.listIds}
      onChange={(listIds) => form.setFieldValue('listIds', listIds)}
    />
  );
}

/** The fields for a delivery report: one campaign, or a date range. */
export function ReportFields({ form }: FieldsProps) {
  const { t } = useTranslation('exports');
  return (
    <>
      <CampaignSelect
        label={t('create.messages')}
        first={[{ value: '', label: t('create.bySpan') }]}
        value={form.values.campaignId}
        onChange={(campaignId) => form.setFieldValue('campaignId', campaignId)}
      />
      {form.values.campaignId === '' && <SpanFields form={form} />}
    </>
  );
}

/** The values of the form; '' if nothing is chosen. */
export type Draft = {
  readonly type: ExportType;
  readonly format: Format;
  /** Dates, as in a `DateField`. */
  readonly startDateTime: string;
  readonly endDateTime: string;
  readonly channel: 'SMS' | 'RCS' | 'WHATSAPP' | '';
  readonly sender: string;
  readonly recipient: string;
  readonly listIds: string;
  readonly campaignId: string;
};

const DAYS = 7;
const DAY_MS = 86_400_000;

export const newDraft = (now = new Date()): Draft => ({
  type: 'HISTORY',
  format: 'csv',
  startDateTime: dayValue(new Date(now.getTime() - DAYS * DAY_MS)),
  endDateTime: dayValue(now),
  channel: '',
  sender: '',
  recipient: '',
  listIds: '',
  campaignId: '',
});

/** The range from the start of the first day to the end of the last. */
const spanOf = ({ startDateTime, endDateTime }: Draft) => ({
  startDateTime: new Date(`${startDateTime}T00:00:00`).toISOString(),
  endDateTime: new Date(`${endDateTime}T23:59:59.999`).toISOString(),
});

/** Requests the export. */
export function requestExport(draft: Draft) {
  const { type, format, channel, sender, recipient, listIds, campaignId } = draft;
  switch (type) {
    case 'HISTORY': {
      const filters = {
        ...(channel !== '' && { channel }),
        ...(sender.trim() !== '' && { sender: sender.trim() }),
        ...(recipient.trim() !== '' && { recipient: recipient.trim() }),
      };
      const body = { ...spanOf(draft), ...filters, format };
      return ok(api.POST('/api/partner-gateway/v1/messages/history/export', { body }));
    }
    case 'CONTACTS':
      return ok(
        api.POST(`${EXPORTS}/contacts`, {
          body: { format, ...(listIds !== '' && { listIds: [Number(listIds)] }) },
        }),
      );
    case 'DELIVERY_REPORTS':
      return ok(
        api.POST(`${EXPORTS}/delivery-reports`, {
          body: { format, ...(campaignId === '' ? spanOf(draft) : { campaignId: Number(campaignId) }) },
        }),
      );
  }
}

/** The permission that requesting and deleting exports requires. */
export const NEED: Need = { scope: 'exports', write: true };

export const EXPORTS = '/api/partner-gateway/v1/exports';
export const FORMATS = ['csv', 'csv.gz', 'xlsx'] as const;
type Format = (typeof FORMATS)[number];
export const TYPES = ['HISTORY', 'CONTACTS', 'DELIVERY_REPORTS'] as const;
type ExportType = (typeof TYPES)[number];

export const listExports = ({ page, limit }: { page: number; limit: number }, signal: AbortSignal) =>
  ok(api.GET(EXPORTS, { params: { query: { page, limit } }, signal }));
export type Export = Awaited<ReturnType<typeof listExports>>['data'][number];

/** Resolves with the URL of the file at this page's origin; null if it has expired meanwhile. */
export async function findFile(exportId: string): Promise<string | null> {
  const { downloadUrl } = await ok(api.GET(`${EXPORTS}/{exportId}`, { params: { path: { exportId } } }));
  if (downloadUrl === null) return null;
  const { pathname, search } = new URL(downloadUrl);
  return pathname + search;
}

/** The format as part of a text key, which cannot contain dots. */
export const formatKey = (format: Format): string => format.replace('.', '');
