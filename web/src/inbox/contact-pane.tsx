import { Avatar, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { UserRound } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { CopyButton } from '../ui/actions/copy-button.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { type Fact, Facts } from '../ui/values/facts.tsx';
import { ButtonLink } from '../ui/link.tsx';
import { MsisdnText } from '../ui/values/msisdn-text.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import { ChannelBadge, Channels } from '../ui/values/statuses.tsx';
import { useIsPhone } from '../ui/use-is-phone.ts';
import { Assignee } from './assignee.tsx';
import type { Conversation } from './conversation.ts';
import classes from './inbox.module.css';
import { sendersQuery } from './senders.ts';
import { useContact } from './use-contact.ts';

type ContactPaneProps = { readonly conversation: Conversation };

/** The details of the person, and the number or agent that replies come from. */
export function ContactPane({ conversation }: ContactPaneProps) {
  const { t } = useTranslation('inbox');
  const { contact, channel } = conversation;
  const isPhone = useIsPhone();
  const known = useContact(contact.id);
  const facts = useFacts(conversation, known);
  return (
    <Stack gap="lg">
      <Stack gap={6} align="center" ta="center">
        <Avatar size={64} radius="xl" color="gray">
          <UserRound size={30} aria-hidden="true" />
        </Avatar>
        <Text component="h3" m={0} fw={650} size="lg" dir="auto" className="foreign-text">
          {contact.name}
        </Text>
        <ChannelBadge channel={channel} />
        {contact.optedOut && <StatusBadge tone="bad">{t('optedOutShort')}</StatusBadge>}
      </Stack>
      {isPhone && <Assignee conversation={conversation} />}
      <Facts facts={facts} />
      {contact.id === null ? (
        <Text size="sm" c="dimmed">
          {t('person.unknown')}
        </Text>
      ) : (
        <ButtonLink to={`/contacts/${contact.id}`} variant="default" fullWidth>
          {t('person.contact')}
        </ButtonLink>
      )}
    </Stack>
  );
}

function useFacts(conversation: Conversation, known: ReturnType<typeof useContact>): readonly Fact[] {
  const { t } = useTranslation('inbox');
  const { contact, lastMessageDate } = conversation;
  const identity = useIdentityName(conversation);
  const facts: readonly (Fact | false | undefined)[] = [
    contact.phoneNumber !== null && {
      label: t('person.number'),
      value: <PhoneNumber number={contact.phoneNumber} />,
    },
    { label: t('person.identity'), value: <span className="foreign-text">{identity}</span> },
    { label: t('person.last'), value: <DateTime value={lastMessageDate} /> },
    known &&
      known.email !== null && { label: t('person.email'), value: <span className="foreign-text">{known.email}</span> },
    known &&
      known.communicationSupported.length > 0 && {
        label: t('person.reachable'),
        value: <Channels channels={known.communicationSupported} />,
      },
    known &&
      known.optedOut.length > 0 && { label: t('person.optedOut'), value: <Channels channels={known.optedOut} /> },
    known && { label: t('person.since'), value: <DateTime value={known.createdAt} show="day" /> },
  ];
  return facts.filter((fact) => typeof fact === 'object');
}

/** The name of the number or agent; on WhatsApp and RCS its ID means nothing to users. */
function useIdentityName({ channel, channelIdentity }: Conversation): string {
  const may = useSession().may({ scope: channel });
  const { data } = useQuery({ ...sendersQuery(channel), enabled: may && channel !== 'SMS' });
  return data?.find(({ value }) => value === channelIdentity)?.label ?? channelIdentity;
}

const PhoneNumber = ({ number }: { readonly number: string }) => (
  <span className={classes.number}>
    <MsisdnText number={number} />
    <CopyButton text={number} />
  </span>
);
