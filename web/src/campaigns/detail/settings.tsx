import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { DateTime } from '../../ui/values/date-time.tsx';
import { type Fact, Facts } from '../../ui/values/facts.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { MessageText } from '../../ui/message/message-text.tsx';
import { Section } from '../../ui/section.tsx';
import { Channels } from '../../ui/values/statuses.tsx';
import { type Campaign, type Channel, chainOf } from '../campaign.ts';
import { toIso } from '../../api/scheduled-date.ts';
import { useLists } from '../contact-lists.ts';
import { senderQuery, templateQuery } from '../../api/networks.ts';

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

function Time({ campaign: { scheduledDate } }: SettingsProps) {
  const { t } = useTranslation('campaigns');
  return scheduledDate === null ? <>{t('time.now')}</> : <DateTime value={toIso(scheduledDate)} show="exact" />;
}

function Quiet({ campaign: { quietHours } }: SettingsProps) {
  const { t } = useTranslation('campaigns');
  if (quietHours === null) return <>{t('quiet.asAccount')}</>;
  return <>{'from' in quietHours ? t('quiet.between', quietHours) : t('quiet.off')}</>;
}
