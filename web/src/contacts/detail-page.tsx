import { Grid, Group, Skeleton, Stack, Switch, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { Eraser, Trash2, UserX } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { ApiError, api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { GuardedButton, useDisabledReason } from '../ui/actions.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Hint } from '../ui/hint.tsx';
import { MessageText } from '../ui/message.tsx';
import {
  ButtonLink,
  EmptyState,
  ErrorState,
  Muted,
  PageFrame,
  Section,
  TableSkeleton,
  TextLink,
} from '../ui/parts.tsx';
import { ChannelBadge, Channels, DateTime, Facts, MessageStatus, StatusBadge } from '../ui/values.tsx';
import { BulkDeleteDialog } from './bulk.tsx';
import {
  CHANNELS,
  CONTACTS,
  type Contact,
  type CustomField,
  contactQuery,
  fieldsQuery,
  NEED,
  useSaveContact,
} from './contact.ts';
import { ContactFields, type ContactValues, toPatch, toValues } from './contact-form.tsx';
import { Lists } from './lists.tsx';

const EraseDialog = lazyPart(() => import('./erase-dialog.tsx').then((file) => ({ default: file.EraseDialog })));

/** The page of one contact: details, consent, lists, conversations and recent messages. */
export function Page() {
  const { t } = useTranslation('contacts');
  const params: { readonly id?: string } = useParams({ strict: false });
  const contact = useQuery(contactQuery(Number(params.id)));
  const fields = useQuery(fieldsQuery);
  const trail = [{ label: t('title'), to: '/contacts' }];
  const error = contact.error ?? fields.error;
  if (isNotFound(contact.error))
    return (
      <PageFrame title={t('detail.title')} trail={trail}>
        <EmptyState icon={UserX} title={t('detail.gone')} text={t('detail.goneText')}>
          <ButtonLink to="/contacts">{t('detail.all')}</ButtonLink>
        </EmptyState>
      </PageFrame>
    );
  if (error !== null && (contact.data === undefined || fields.data === undefined))
    return (
      <PageFrame title={t('detail.title')} trail={trail}>
        <ErrorState error={error} onRetry={() => void Promise.all([contact.refetch(), fields.refetch()])} />
      </PageFrame>
    );
  if (contact.data === undefined || fields.data === undefined)
    return (
      <PageFrame title={t('detail.title')} trail={trail}>
        <TableSkeleton />
      </PageFrame>
    );
  return <Loaded contact={contact.data} fields={fields.data} />;
}

/** Returns true if there is no such contact, or its ID is malformed. */
const isNotFound = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 400);

type LoadedProps = { readonly contact: Contact; readonly fields: readonly CustomField[] };

function Loaded({ contact, fields }: LoadedProps) {
  const { t } = useTranslation('contacts');
  const { may } = useSession();
  return (
    <PageFrame
      title={contact.name}
      badge={<Badges contact={contact} />}
      trail={[{ label: t('title'), to: '/contacts' }]}
      actions={
        <>
          <Erase contact={contact} />
          <Delete contact={contact} />
        </>
      }
    >
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, lg: 7 }}>
          <Stack gap="lg">
            <Details key={contact.id} contact={contact} fields={fields} />
            {may({ scope: 'tracking' }) && <RecentMessages contact={contact} />}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 5 }}>
          <Stack gap="lg">
            <Consent contact={contact} />
            <Lists contact={contact} />
            {may({ scope: 'inbox' }) && <Conversations contact={contact} />}
          </Stack>
        </Grid.Col>
      </Grid>
    </PageFrame>
  );
}

function Badges({ contact: { isTest, isValid, phoneNumber } }: Pick<LoadedProps, 'contact'>) {
  const { t } = useTranslation('contacts');
  return (
    <>
      {isTest && <StatusBadge tone="neutral">{t('test')}</StatusBadge>}
      {phoneNumber !== null && !isValid && <StatusBadge tone="warning">{t('invalid')}</StatusBadge>}
    </>
  );
}

function Delete({ contact: { id } }: Pick<LoadedProps, 'contact'>) {
  const { t } = useTranslation('contacts');
  const navigate = useNavigate();
  const target = { selection: { all: false, ids: new Set([id]) }, query: {}, count: 1, isWhole: false };
  const ask = (): void =>
    openDialog(<BulkDeleteDialog target={target} onDone={() => void navigate({ to: '/contacts' })} />);
  return (
    <GuardedButton need={NEED} variant="light" color="red" leftSection={<Trash2 size={16} />} onClick={ask}>
      {t('bulk.delete')}
    </GuardedButton>
  );
}

function Erase({ contact }: Pick<LoadedProps, 'contact'>) {
  const { t } = useTranslation('contacts');
  const navigate = useNavigate();
  return (
    <GuardedButton
      need={{ scope: 'keys', write: true }}
      reason={contact.phoneNumber === null && t('consent.noNumber')}
      variant="default"
      leftSection={<Eraser size={16} />}
      onClick={() => openDialog(<EraseDialog contact={contact} onDone={() => void navigate({ to: '/contacts' })} />)}
    >
      {t('erase.open')}
    </GuardedButton>
  );
}

type Channel = (typeof CHANNELS)[number];

const listOptOuts = (id: number, signal: AbortSignal) =>
  ok(api.GET(`${CONTACTS}/{id}/opt-outs`, { params: { path: { id } }, signal }));
type OptOut = Awaited<ReturnType<typeof listOptOuts>>[number];

/** The contact's consent per channel; for opt-outs, the time and the user who recorded them. */
function Consent({ contact }: { readonly contact: Contact }) {
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
            optOuts={optOuts.data?.filter((each) => each.channel === channel) ?? []}
          />
        ))}
      </Stack>
    </Section>
  );
}

type ChannelConsentProps = {
  readonly contact: Contact;
  readonly channel: Channel;
  readonly optOuts: readonly OptOut[];
};

function ChannelConsent({ contact, channel, optOuts }: ChannelConsentProps) {
  const { t } = useTranslation('contacts');
  const save = useSaveContact();
  const reason = useDisabledReason(NEED, contact.phoneNumber === null && t('consent.noNumber'));
  const name = t(`ui:channel.${channel}`);
  const isOut = contact.optedOut.includes(channel);
  const [optOut] = optOuts;
  const change = useAction({
    run: (wants: boolean) => save(contact.id, { optedOut: without(contact.optedOut, channel, wants) }),
    done: (_, wants) => t(wants ? 'consent.optedIn' : 'consent.optedOut', { channel: name }),
  });
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start">
      <Stack gap={0}>
        <Text size="sm" fw={500}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {!isOut && t('consent.wants')}
          {isOut && optOut && (
            <>
              {t(`consent.source.${optOut.source}`)} · <DateTime value={optOut.createdAt} />
            </>
          )}
          {!isOut && optOut && (
            <>
              {' · '}
              {t('consent.marketing')} · <DateTime value={optOut.createdAt} />
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

type DetailsProps = { readonly contact: Contact; readonly fields: readonly CustomField[] };

/** The form with the contact's names, addresses and custom fields. */
function Details({ contact, fields }: DetailsProps) {
  const { t } = useTranslation('contacts');
  const { may } = useSession();
  const save = useSaveContact();
  const form = useForm<ContactValues>({ initialValues: toValues(contact, fields) });
  const change = useAction<ContactValues, Contact>({
    run: (values) => save(contact.id, toPatch(values, fields)),
    done: t('detail.saved'),
    form,
    onDone(changed) {
      form.setValues(toValues(changed, fields));
      form.resetDirty(toValues(changed, fields));
    },
  });
  return (
    <Section title={t('detail.details')}>
      <form onSubmit={form.onSubmit((values) => change.run(values))} noValidate>
        <Stack>
          <ContactFields form={form} fields={fields} readOnly={!may(NEED)} />
          <Group justify="flex-end">
            <GuardedButton
              need={NEED}
              type="submit"
              loading={change.busy}
              reason={!form.isDirty() && t('detail.unchanged')}
            >
              {t('ui:save')}
            </GuardedButton>
          </Group>
        </Stack>
      </form>
      <ReadOnlyFacts contact={contact} />
    </Section>
  );
}

/** Read-only facts, derived from the number or from messages sent. */
function ReadOnlyFacts({ contact }: Pick<DetailsProps, 'contact'>) {
  const { t, i18n } = useTranslation('contacts');
  const { country, numberType, communicationSupported, lastContactType, lastContactDate } = contact;
  const countries = new Intl.DisplayNames([i18n.language], { type: 'region' });
  const number = [country && countries.of(country), numberType && t(`numberType.${numberType}`, numberType)];
  return (
    <Facts
      facts={[
        { label: t('detail.number'), value: number.filter(Boolean).join(' · ') || '–' },
        {
          label: t('column.reach'),
          value: communicationSupported.length > 0 ? <Channels channels={communicationSupported} /> : t('ui:none'),
        },
        {
          label: t('column.lastContactDate'),
          value: lastContactDate ? (
            <>
              <DateTime value={lastContactDate} /> · {t(`ui:channel.${lastContactType}`)}
            </>
          ) : (
            t('never')
          ),
        },
        { label: t('column.createdAt'), value: <DateTime value={contact.createdAt} /> },
        { label: t('column.updatedAt'), value: <DateTime value={contact.updatedAt} /> },
      ]}
    />
  );
}

const MAX_SHOWN = 5;
const DAYS = 30;

const listMessages = (destination: string, signal: AbortSignal) => {
  const from = new Date(Date.now() - DAYS * 86_400_000).toISOString();
  const query = { destination, from, limit: MAX_SHOWN };
  return ok(api.GET('/api/partner-gateway/v1/messages', { params: { query }, signal }));
};

/** The last messages to the number. */
function RecentMessages({ contact: { phoneNumber } }: { readonly contact: Contact }) {
  const { t } = useTranslation('contacts');
  const messages = useQuery({
    queryKey: ['messages', 'to', phoneNumber],
    queryFn: ({ signal }) => listMessages(phoneNumber ?? '', signal),
    enabled: phoneNumber !== null,
  });
  const rows = messages.data?.data ?? [];
  return (
    <Section
      title={t('detail.messages')}
      actions={
        rows.length > 0 && (
          <TextLink to="/messages" search={{ q: phoneNumber ?? '', days: DAYS }}>
            {t('detail.allMessages')}
          </TextLink>
        )
      }
    >
      {messages.error !== null && <ErrorState error={messages.error} onRetry={() => void messages.refetch()} />}
      {messages.isLoading && <Skeleton h={48} />}
      {(phoneNumber === null || messages.data) && rows.length === 0 && (
        <Muted>{t('detail.noMessages', { count: DAYS })}</Muted>
      )}
      <Stack gap="sm">
        {rows.map(({ messageId, channel, text, deliveryStatus, acceptedAt }) => (
          <Group key={messageId} justify="space-between" wrap="nowrap" align="flex-start" gap="md">
            <Stack gap={4} style={{ minWidth: 0 }}>
              <MessageText text={text ?? ''} lines={2} />
              <Text size="xs" c="dimmed">
                <DateTime value={acceptedAt} />
              </Text>
            </Stack>
            <Group gap={6} justify="flex-end">
              <ChannelBadge channel={channel} />
              <MessageStatus status={deliveryStatus} />
            </Group>
          </Group>
        ))}
      </Stack>
    </Section>
  );
}

const MAX_CONVERSATIONS = 10;

const findConversations = async (search: string, signal: AbortSignal) => {
  const path = '/api/partner-gateway/v1/inbox/conversations';
  return ok(api.GET(path, { params: { query: { search, limit: MAX_CONVERSATIONS } }, signal }));
};

/** The conversations with the contact, one per channel. */
function Conversations({ contact: { id, phoneNumber } }: { readonly contact: Contact }) {
  const { t } = useTranslation('contacts');
  const conversations = useQuery({
    queryKey: ['conversations', 'of', phoneNumber],
    queryFn: ({ signal }) => findConversations(phoneNumber ?? '', signal),
    enabled: phoneNumber !== null,
  });
  const own = (conversations.data?.data ?? []).filter(({ contact }) => contact.id === id);
  return (
    <Section title={t('detail.conversations')}>
      {own.length === 0 ? (
        <Muted>{t('detail.noConversation')}</Muted>
      ) : (
        <Stack gap="sm">
          {own.map(({ chatId, channel, lastMessage, lastMessageDate }) => (
            <Stack key={chatId} gap={4}>
              <Group justify="space-between">
                <ChannelBadge channel={channel} />
                <Text size="xs" c="dimmed">
                  <DateTime value={lastMessageDate} />
                </Text>
              </Group>
              <MessageText text={lastMessage.text} lines={1} />
              <TextLink to="/inbox" search={{ chat: chatId }}>
                {t('detail.openConversation')}
              </TextLink>
            </Stack>
          ))}
        </Stack>
      )}
    </Section>
  );
}
