import { Group, Stack, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { DateTime } from '../../ui/values/date-time.tsx';
import { Hint } from '../../ui/hint.tsx';
import { useDisabledReason } from '../../ui/actions/guarded-button.tsx';
import { Section } from '../../ui/section.tsx';
import { CHANNELS, type Contact, CONTACTS, NEED, useSaveContact } from '../contact.ts';

type Channel = (typeof CHANNELS)[number];

const listOptOuts = (id: number, signal: AbortSignal) =>
  ok(api.GET(`${CONTACTS}/{id}/opt-outs`, { params: { path: { id } }, signal }));
type OptOut = Awaited<ReturnType<typeof listOptOuts>>[number];

/** The contact's consent per channel; for opt-outs, the time and the user who recorded them. */
export function Consent({ contact }: { readonly contact: Contact }) {
  const { t } = useTranslation('contacts');
  const optOuts = useQuery({
    queryKey: ['contacts', 'opt-outs', contact.id, contact.optedOut],
    queryFn: ({ signal }) => listOptOuts(contact.id, signal),
  });
  return (
    <Section title={t('consent.title')} description={t('consent.text')}>
      <Stack gap="md">
        {CHANNELS.map((channel) => (
          <ChannelConsent
            key={channel}
            contact={contact}
            channel={channel}
            optOut={optOuts.data?.find((each) => each.channel === channel)}
          />
        ))}
      </Stack>
    </Section>
  );
}

type ChannelConsentProps = {
  readonly contact: Contact;
  readonly channel: Channel;
  readonly optOut: OptOut | undefined;
};

function ChannelConsent({ contact, channel, optOut }: ChannelConsentProps) {
  const { t } = useTranslation('contacts');
  const save = useSaveContact();
  const reason = useDisabledReason(NEED, contact.phoneNumber === null && t('consent.noNumber'));
  const name = t(`ui:channel.${channel}`);
  const isOut = contact.optedOut.includes(channel);
  const change = useAction({
    run: (wants: boolean) => save(contact.id, { optedOut: without(contact.optedOut, channel, wants) }),
    done: (_, wants) => t(wants ? 'consent.optedIn' : 'consent.optedOut', { channel: name }),
  });
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start">
      <Stack gap={0}>
        <Text size="sm" fw={600}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {!isOut && t('consent.wants')}
          {isOut && optOut && (
            <>
              {t(`consent.source.${optOut.source}`)} · <DateTime value={optOut.createdAt} />
            </>
          )}
        </Text>
      </Stack>
      <Hint label={reason}>
        <Switch
          aria-label={t('consent.switch', { channel: name })}
          checked={!isOut}
          aria-disabled={reason !== undefined || change.busy}
          onChange={(event) => reason === undefined && !change.busy && change.run(event.currentTarget.checked)}
        />
      </Hint>
    </Group>
  );
}

const without = (optedOut: readonly Channel[], channel: Channel, wants: boolean): Channel[] => {
  const others = optedOut.filter((each) => each !== channel);
  return wants ? others : [...others, channel];
};
