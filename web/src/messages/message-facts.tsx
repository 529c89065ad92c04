import { Code, Group, SimpleGrid, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { CopyButton } from '../ui/actions/copy-button.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { type Fact, Facts } from '../ui/values/facts.tsx';
import { TextLink } from '../ui/link.tsx';
import { MessageText } from '../ui/message/message-text.tsx';
import { Money } from '../ui/values/money.tsx';
import { Num } from '../ui/values/num.tsx';
import { Section } from '../ui/section.tsx';
import { ChannelBadge } from '../ui/values/statuses.tsx';
import type { Message } from './message.ts';

/** The content of a message and its delivery details. */
export function MessageFacts({ message }: { readonly message: Message }) {
  const { t } = useTranslation('messages');
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Section title={t('one.content')}>
        <Stack gap="md">
          <MessageText text={message.text === '' ? t('noText') : message.text} />
          <Facts facts={useContentFacts(message)} />
        </Stack>
      </Section>
      <Section title={t('one.delivery')}>
        <Facts facts={useDeliveryFacts(message)} />
      </Section>
    </SimpleGrid>
  );
}

function useContentFacts({ channel, sender, source, simulation, campaignId, parts, price }: Message): readonly Fact[] {
  const { t } = useTranslation('messages');
  const { currency } = useSession().account;
  const campaign = campaignId !== null && (
    <TextLink to={`/campaigns/${campaignId}`}>{t('one.campaign', { id: campaignId })}</TextLink>
  );
  return [
    { label: t('column.channel'), value: <ChannelBadge channel={channel} /> },
    { label: t('column.sender'), value: sender === '' ? '–' : sender },
    { label: t('column.source'), value: campaign || t(simulation ? 'simulated' : `source.${source}`) },
    { label: t('column.parts'), value: <Num value={parts} /> },
    { label: t('column.price'), value: <Money amount={price} currency={currency} /> },
  ];
}

function useDeliveryFacts(message: Message): readonly Fact[] {
  const { t } = useTranslation('messages');
  const { acceptedAt, deliveryDate, readAt, errorCode, errorMessage, possibleDuplicate } = message;
  const facts: Fact[] = [
    { label: t('column.acceptedAt'), value: <DateTime value={acceptedAt} show="exact" /> },
    { label: t('one.deliveryDate'), value: <DateTime value={deliveryDate} show="exact" /> },
  ];
  if (readAt !== null) facts.push({ label: t('one.readAt'), value: <DateTime value={readAt} show="exact" /> });
  const response = [errorCode, errorMessage].filter((word) => word !== null).join(' · ');
  if (response !== '') facts.push({ label: t('one.carrierWords'), value: <MessageText text={response} /> });
  if (possibleDuplicate) facts.push({ label: t('one.duplicate'), value: t('one.duplicateText') });
  return [...facts, ...useIdFacts(message)];
}

function useIdFacts({ messageId, customerMessageId }: Message): readonly Fact[] {
  const { t } = useTranslation('messages');
  const ids = [{ label: t('one.messageId'), id: messageId }];
  if (customerMessageId !== null) ids.push({ label: t('column.customerMessageId'), id: customerMessageId });
  return ids.map(({ label, id }) => ({
    label,
    value: (
      <Group gap={4} wrap="nowrap">
        <Code style={{ overflowWrap: 'anywhere' }}>{id}</Code>
        <CopyButton text={id} label={t('one.copy', { what: label })} />
      </Group>
    ),
  }));
}
