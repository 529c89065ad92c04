import { Group, Stack, Text } from '@mantine/core';
import { Users } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ChoiceFilter, FilterBar } from '../../ui/filter-bar.tsx';
import { TextLink } from '../../ui/link.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { MsisdnText } from '../../ui/values/msisdn-text.tsx';
import { Section } from '../../ui/section.tsx';
import { ChannelBadge, MessageStatus } from '../../ui/values/statuses.tsx';
import { choice, whole, useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { useCountryName } from '../price/breakdown.tsx';
import { type Campaign, isSending, CAMPAIGN } from '../campaign.ts';

const STATUSES = [
  'PENDING',
  'SKIPPED',
  'ACCEPTED',
  'DELIVERED',
  'UNKNOWN',
  'DELETED',
  'REJECTED',
  'EXPIRED',
  'UNDELIVERABLE',
  'ERROR',
  'DISABLED',
  'UNSUPPORTED',
  'CONVERSATION_CLOSED',
] as const;
const FIELDS = { page: whole(), limit: whole(10), status: choice(STATUSES) };
const POLL_MS = 5000;

type Search = { readonly page: number; readonly limit: number; readonly status: (typeof STATUSES)[number] | '' };

const listRecipients = (id: number, { page, limit, status }: Search, signal: AbortSignal) =>
  ok(
    api.GET(`${CAMPAIGN}/recipients`, {
      params: { path: { id }, query: { page, limit, ...(status && { status }) } },
      signal,
    }),
  );

type Recipient = Awaited<ReturnType<typeof listRecipients>>['data'][number];

/** The recipients with the outcome for each, paged by the server. */
export function RecipientsTable({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useColumns();
  const query = useListQuery(
    // Status and goal are part of the key, so that the data is refetched when the campaign ends or is counted again.
    ['campaign', campaign.id, 'recipients', search, campaign.status, campaign.goalCalculatedAt],
    (signal) => listRecipients(campaign.id, search, signal),
    { refetchInterval: isSending(campaign) ? POLL_MS : false },
  );
  return (
    <Section title={t('reached.title')} description={t('reached.hint')}>
      <FilterBar isFiltered={search.status !== ''} onClear={() => setSearch({ status: '' })}>
        <ChoiceFilter
          label={t('reached.anyStatus')}
          options={STATUSES.map((value) => ({ value, label: t(`ui:messageStatus.${value}`) }))}
          value={search.status}
          onChange={(status) => setSearch({ status })}
        />
      </FilterBar>
      <DataTable<Recipient>
        id="campaign-recipients"
        label={t('reached.title')}
        columns={columns}
        query={query}
        rowId={({ phoneNumber, contactId }) => `${phoneNumber}/${contactId ?? ''}`}
        search={search}
        onSearch={setSearch}
        empty={<EmptyState icon={Users} title={t(search.status === '' ? 'reached.none' : 'reached.noneFound')} />}
      />
    </Section>
  );
}

function useColumns(): readonly Column<Recipient>[] {
  const { t } = useTranslation('campaigns');
  const country = useCountryName();
  return useMemo(
    () => [
      { id: 'phoneNumber', header: t('reached.number'), phone: 'title', cell: (row) => <PhoneNumber row={row} /> },
      {
        id: 'name',
        header: t('column.name'),
        cell: ({ name }) => <bdi className="foreign-text">{name ?? '–'}</bdi>,
      },
      { id: 'country', header: t('breakdown.country'), phone: 'none', cell: (row) => country(row.country) },
      {
        id: 'channel',
        header: t('reached.channel'),
        cell: ({ channel }) => (channel === null ? '–' : <ChannelBadge channel={channel} />),
      },
      { id: 'status', header: t('column.status'), cell: (row) => <Status row={row} /> },
      { id: 'messages', header: t('reached.messages'), cell: ({ messageIds }) => <Messages ids={messageIds} /> },
    ],
    [t, country],
  );
}

function PhoneNumber({ row: { phoneNumber, contactId } }: { readonly row: Recipient }) {
  const { t } = useTranslation('campaigns');
  const number = phoneNumber === '' ? t('reached.noNumber') : <MsisdnText number={phoneNumber} />;
  return contactId === null ? number : <TextLink to={`/contacts/${contactId}`}>{number}</TextLink>;
}

/** The status of the last message, and why there is none. */
function Status({ row: { status, read, skipReason, notTried } }: { readonly row: Recipient }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  return (
    <Stack gap={2} align="flex-start">
      <MessageStatus status={read ? 'READ' : status} />
      {skipReason !== null && (
        <Text size="xs" c="dimmed">
          {t(`skip.${skipReason}`, { defaultValue: skipReason })}
        </Text>
      )}
      {notTried.length > 0 && (
        <Text size="xs" c="dimmed">
          {t('reached.notTried', { channels: format.list(notTried.map((channel) => t(`ui:channel.${channel}`))) })}
        </Text>
      )}
    </Stack>
  );
}

/** Links to the messages, one for each channel tried. */
function Messages({ ids }: { readonly ids: readonly string[] }) {
  const { t } = useTranslation('campaigns');
  if (ids.length === 0) return <span>–</span>;
  return (
    <Group gap="xs">
      {ids.map((id, at) => (
        <TextLink key={id} to={`/messages/${id}`} aria-label={t('reached.openMessage', { place: at + 1 })}>
          {ids.length === 1 ? t('reached.message') : t('reached.attempt', { place: at + 1 })}
        </TextLink>
      ))}
    </Group>
  );
}
