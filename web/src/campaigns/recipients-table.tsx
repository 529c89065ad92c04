import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Users } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { toIso } from '../api/data.ts';
import { senderQuery, templateQuery } from '../api/networks.ts';
import { api, ok } from '../api/send.ts';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { MessageText } from '../ui/message.tsx';
import { EmptyState, Section, TextLink } from '../ui/parts.tsx';
import { choice, useUrlState, whole } from '../ui/url-state.ts';
import { ChannelBadge, Channels, DateTime, type Fact, Facts, MessageStatus, MsisdnText } from '../ui/values.tsx';
import { useCountryName } from './breakdown.tsx';
import { CAMPAIGN, type Campaign, type Channel, chainOf, isSending, useLists } from './campaign.ts';

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

type SettingsProps = { readonly campaign: Campaign };

/** The settings of the campaign: channels, senders, texts, recipients and time. */
export function Settings({ campaign }: SettingsProps) {
  const { t } = useTranslation('campaigns');
  const chain = chainOf(campaign.sendingMode);
  const contents = useContents(campaign, chain);
  const waits = useWaits(campaign, chain);
  return (
    <Section title={t('settings.title')}>
      <Facts
        facts={[
          { label: t('column.channels'), value: <Channels channels={chain} /> },
          ...contents,
          ...waits,
          { label: t('step.recipients'), value: <Recipients campaign={campaign} /> },
          { label: t('time.title'), value: <Time campaign={campaign} /> },
          { label: t('quiet.title'), value: <Quiet campaign={campaign} /> },
          {
            label: t('ui:purpose.label'),
            value: t(`ui:purpose.${campaign.purpose ?? 'none'}`),
          },
          ...(campaign.held.length === 0 ? [] : [{ label: t('calendar.held'), value: <Held campaign={campaign} /> }]),
          ...(campaign.rate === null
            ? []
            : [{ label: t('rate.title'), value: t('rate.value', { count: campaign.rate }) }]),
        ]}
      />
    </Section>
  );
}

/** Waiting times of all channels but the last; the server's defaults are not shown. */
function useWaits({ fallback }: Campaign, chain: readonly Channel[]): readonly Fact[] {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const after = chain.slice(0, -1).flatMap((channel) => {
    const seconds = channel === 'SMS' ? undefined : fallback.after?.[channel];
    if (seconds === undefined) return [];
    return [{ label: t('chain.after', { channel: t(`ui:channel.${channel}`) }), value: format.duration(seconds) }];
  });
  if (chain.length === 1 || fallback.maxWait === undefined) return after;
  return [...after, { label: t('chain.maxWait'), value: format.duration(fallback.maxWait) }];
}

/** The senders and templates of the channels, by name. */
function useContents(campaign: Campaign, chain: readonly Channel[]): readonly Fact[] {
  const { t } = useTranslation('campaigns');
  const nameOf = useNames(chain);
  const facts: Readonly<Record<Channel, readonly (readonly [label: string, value: ReactNode])[]>> = {
    WHATSAPP: [
      [t('channels.whatsappPhoneNumberId'), nameOf(campaign.whatsappPhoneNumberId)],
      [t('channels.whatsappTemplateId'), nameOf(campaign.whatsappTemplateId)],
    ],
    RCS: [
      [t('channels.rcsAgentId'), nameOf(campaign.rcsAgentId)],
      [t('channels.rcsTemplateId'), nameOf(campaign.rcsTemplateId)],
      ...(campaign.rcsTrafficType === null
        ? []
        : [[t('channels.rcsTrafficType'), t(`trafficType.${campaign.rcsTrafficType}`)] as const]),
    ],
    SMS: [
      [t('channels.smsSender'), campaign.smsSender],
      [t('text.label'), <MessageText key="text" text={campaign.smsBody ?? ''} />],
    ],
  };
  return chain.flatMap((channel) => facts[channel].map(([label, value]) => ({ label, value })));
}

function useNames(chain: readonly Channel[]): (id: string | null) => string {
  const [whatsapp, rcs] = [chain.includes('WHATSAPP'), chain.includes('RCS')];
  const found = [
    useQuery({ ...senderQuery('WHATSAPP'), enabled: whatsapp }),
    useQuery({ ...templateQuery('WHATSAPP'), enabled: whatsapp }),
    useQuery({ ...senderQuery('RCS'), enabled: rcs }),
    useQuery({ ...templateQuery('RCS'), enabled: rcs }),
  ];
  const options = found.flatMap(({ data }) => data ?? []);
  return (id) => options.find(({ value }) => value === id)?.label ?? id ?? '–';
}

function Recipients({ campaign: { contactListIds, destinations = [] } }: SettingsProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { data } = useLists({ id: contactListIds.join(','), limit: 1000 }, contactListIds.length > 0);
  if (contactListIds.length === 0)
    return (
      <>{t('recipients.numbersCount', { count: destinations.length, shown: format.number(destinations.length) })}</>
    );
  const names = (data?.data ?? []).filter(({ id }) => contactListIds.includes(id)).map(({ name }) => name);
  return <>{names.length > 0 ? format.list(names) : t('note.lists', { count: contactListIds.length })}</>;
}

function Time({ campaign: { scheduledDate, localTime } }: SettingsProps) {
  const { t } = useTranslation('campaigns');
  if (localTime !== null)
    return (
      <>
        {t('time.local')}: {localTime.at.replace('T', ' ')}
      </>
    );
  return scheduledDate === null ? <>{t('time.now')}</> : <DateTime value={toIso(scheduledDate)} show="exact" />;
}

function Held({ campaign: { held } }: SettingsProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const country = useCountryName();
  return (
    <Stack gap={2}>
      {held.map(({ country: code, region, count, until, rule }) => (
        <Text key={`${region ?? code} ${until} ${rule}`} size="sm">
          {t('calendar.heldUntil', {
            shown: format.number(count),
            place: region ?? country(code),
            until: format.exact(new Date(until)),
            rule,
          })}
        </Text>
      ))}
    </Stack>
  );
}

function Quiet({ campaign: { quietHours } }: SettingsProps) {
  const { t } = useTranslation('campaigns');
  if (quietHours === null) return <>{t('quiet.asAccount')}</>;
  return <>{'from' in quietHours ? t('quiet.between', quietHours) : t('quiet.off')}</>;
}
