import { Avatar, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { UserRound } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { DateTime } from '../ui/date-time.tsx';
import { type Fact, Facts } from '../ui/facts.tsx';
import { ButtonLink } from '../ui/link.tsx';
import { MsisdnText } from '../ui/msisdn-text.tsx';
import { StatusBadge } from '../ui/status-badge.tsx';
import { ChannelBadge, Channels } from '../ui/statuses.tsx';
import { useIsPhone } from '../ui/use-is-phone.ts';
import { Assignee } from './assignee.tsx';
import type { Conversation } from './conversation.ts';
import classes from './inbox.module.css';

type ContactPaneProps = { readonly conversation: Conversation };

/** Who the conversation is with, and as whom one answers. */
export function ContactPane({ conversation }: ContactPaneProps) {
  const { t } = useTranslation('inbox');
  const { contact, channel } = conversation;
  const may = useSession().may({ scope: 'contacts' });
  const isPhone = useIsPhone();
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
      <Facts facts={useFacts(conversation)} />
      {contact.id !== null && may && <Known id={contact.id} />}
      {contact.id === null && (
        <Text size="sm" c="dimmed">
          {t('person.unknown')}
        </Text>
      )}
    </Stack>
  );
}

function useFacts({ contact, channelIdentity, lastMessageDate }: Conversation): readonly Fact[] {
  const { t } = useTranslation('inbox');
  return [
    ...(contact.phoneNumber === null
      ? []
      : [{ label: t('person.number'), value: <PhoneNumber number={contact.phoneNumber} /> }]),
    { label: t('person.identity'), value: <span className="foreign-text">{channelIdentity}</span> },
    { label: t('person.last'), value: <DateTime value={lastMessageDate} /> },
  ];
}

const PhoneNumber = ({ number }: { readonly number: string }) => (
  <span className={classes.number}>
    <MsisdnText number={number} />
    <CopyButton text={number} />
  </span>
);

/** What the contact's own page knows of them. */
function Known({ id }: { readonly id: number }) {
  const { t } = useTranslation('inbox');
  const { data: contact } = useQuery({
    queryKey: ['contacts', 'of-inbox', id],
    queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/contacts/{id}', { params: { path: { id } }, signal })),
  });
  const facts: Fact[] = [
    ...(contact?.email
      ? [{ label: t('person.email'), value: <span className="foreign-text">{contact.email}</span> }]
      : []),
    ...(contact && contact.communicationSupported.length > 0
      ? [{ label: t('person.reachable'), value: <Channels channels={contact.communicationSupported} /> }]
      : []),
    ...(contact && contact.optedOut.length > 0
      ? [{ label: t('person.optedOut'), value: <Channels channels={contact.optedOut} /> }]
      : []),
    ...(contact ? [{ label: t('person.since'), value: <DateTime value={contact.createdAt} show="day" /> }] : []),
  ];
  return (
    <Stack gap="md">
      {facts.length > 0 && <Facts facts={facts} />}
      <ButtonLink to={`/contacts/${id}`} variant="default" fullWidth>
        {t('person.contact')}
      </ButtonLink>
    </Stack>
  );
}
