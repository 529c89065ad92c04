import {
  Alert,
  Checkbox,
  Grid,
  Group,
  List,
  NativeSelect,
  Paper,
  Radio,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { BookUser, Send } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { type Network, senderQuery, templateQuery } from '../api/networks.ts';
import { useProblemText } from '../api/passkey.ts';
import { ApiError } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { ContactSearch, type FoundContact } from '../ui/contact-search.tsx';
import { MessageText } from '../ui/message.tsx';
import { ErrorState, PageFrame, Section, TextLink } from '../ui/parts.tsx';
import { choice, text, useUrlState } from '../ui/url-state.ts';
import { ChannelBadge, MessageStatus, MsisdnText, usePurposes } from '../ui/values.tsx';
import { ContentFields, TlvField } from './content-fields.tsx';
import {
  CHANNELS,
  type Channel,
  type Draft,
  type DraftForm,
  emptyDraft,
  enabledFallbacksOf,
  fallbackChannelsOf,
  isNetwork,
  numberOf,
} from './draft.ts';
import {
  groupFaults,
  hasFailed,
  missingOf,
  type Outcome,
  type Preview,
  PreviewPanel,
  previewOf,
  previewQuery,
  send,
  statusQuery,
} from './faults.tsx';
import classes from './send.module.css';

/** `to` and `text` are the number and the text from a link. */
const FIELDS = { channel: choice(CHANNELS), to: text(), text: text() };

/** The page that sends one message to one person, on any channel. */
export function Page() {
  const { t } = useTranslation('send');
  const [{ channel: wanted, to, text: words }, setSearch] = useUrlState(FIELDS);
  const channel = useChannel(wanted);
  const state = useSend(channel, emptyDraft(to, words));
  const { form, template, failures } = state;
  const preview = usePreview(channel, form.values, template?.placeholders);
  const fields = useFirstFault(failures);
  const change = (next: Channel): void => {
    form.clearErrors();
    state.forget();
    setSearch({ channel: next });
  };
  return (
    <PageFrame title={t('title')} description={t('description')}>
      <Grid gap="md">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <form
            ref={fields}
            noValidate
            onSubmit={(event) => {
              event.preventDefault();
              void state.submit();
            }}
          >
            <Stack>
              <Section title={t('who')}>
                <ChannelChoice channel={channel} onChange={change} />
                <RecipientField form={form} />
                <SenderField channel={channel} form={form} />
              </Section>
              <Section title={t('what')}>
                <ContentFields channel={channel} form={form} template={template} preview={preview} />
                <PurposeFields form={form} />
                {channel === 'SMS' && <TlvField form={form} />}
              </Section>
              {fallbackChannelsOf(channel).length > 0 && <FallbackFields channel={channel} form={form} />}
              <SendBar channel={channel} state={state} />
            </Stack>
          </form>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <div className={classes.aside}>
            <SentList sent={state.sent} />
            <PreviewPanel
              channel={channel}
              draft={form.values}
              errors={form.errors}
              template={template}
              preview={preview}
            />
          </div>
        </Grid.Col>
      </Grid>
    </PageFrame>
  );
}

/** The fields for what the message is for, and whether it waits for the calendar. */
function PurposeFields({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  const purposes = usePurposes();
  return (
    <Stack gap="sm">
      <NativeSelect
        label={t('ui:purpose.label')}
        w={{ base: '100%', xs: 260 }}
        data={purposes}
        {...form.getInputProps('purpose')}
      />
      <Switch label={t('respectCalendar')} {...form.getInputProps('respectCalendar', { type: 'checkbox' })} />
    </Stack>
  );
}

/** The channel in the URL if the user may send on it, else the first on which they may. */
function useChannel(wanted: Channel | ''): Channel {
  const { may } = useSession();
  const allowed = CHANNELS.filter((scope) => may({ scope, write: true }));
  return allowed.find((each) => each === wanted) ?? allowed[0] ?? 'SMS';
}

/** Moves the focus to the first field with an error after each failed attempt. */
function useFirstFault(failures: number) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (failures > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [failures]);
  return form;
}

/** A message sent from this page since it was opened. */
type Sent = {
  readonly messageId: string;
  readonly channel: Channel;
  readonly destination: string;
  /** True if a fallback message may follow. */
  readonly hasFallback: boolean;
};

/** The state of the page: the form, its errors, and the messages sent. */
function useSend(channel: Channel, initialValues: Draft) {
  const { t } = useTranslation('send');
  const problemText = useProblemText();
  const form = useForm<Draft>({ initialValues });
  const template = useTemplate(channel, form.values);
  const [sent, setSent] = useState<readonly Sent[]>([]);
  /** Errors without a field, as sentences. */
  const [refusals, setRefusals] = useState<readonly string[]>([]);
  /** The number of failed attempts, so that each one moves the focus to its first error. */
  const [failures, setFailures] = useState(0);
  const sending = useAction({ run: (draft: Draft) => send(channel, draft), refresh: [['credit']], quiet: true });

  function fail(errors: Readonly<Record<string, string>>, others: readonly string[]): void {
    form.setErrors({ ...errors });
    setRefusals(others);
    setFailures((count) => count + 1);
  }

  function take(outcome: Outcome, draft: Draft): void {
    if (!outcome.accepted) return fail({}, outcome.reasons);
    const { messageId } = outcome;
    const hasFallback = enabledFallbacksOf(channel, draft).length > 0;
    setSent((before) => [{ messageId, channel, destination: draft.destination.trim(), hasFallback }, ...before]);
  }

  async function submit(): Promise<void> {
    const draft = form.getValues();
    const missing = missingOf(channel, draft, template);
    if (missing.length > 0) return fail(Object.fromEntries(missing.map((place) => [place, t('fault.missing')])), []);
    setRefusals([]);
    form.clearErrors();
    try {
      take(await sending.runAsync(draft), draft);
    } catch (error) {
      const faults = error instanceof ApiError ? error.details : [];
      const { errors, others } = groupFaults(channel, faults);
      const said = others.map(({ field, message }) => `${field}: ${message}`);
      fail(errors, faults.length > 0 ? said : [problemText(error)]);
    }
  }
  return { form, template, submit, busy: sending.busy, sent, refusals, failures, forget: () => setRefusals([]) };
}

type SendState = ReturnType<typeof useSend>;

function useTemplate(channel: Channel, draft: Draft) {
  const network = isNetwork(channel) ? channel : 'RCS';
  const { data } = useQuery({ ...templateQuery(network), enabled: isNetwork(channel) });
  return isNetwork(channel) ? data?.find(({ value }) => value === draft[network].templateId) : undefined;
}

type FallbackFieldsProps = { readonly channel: Channel; readonly form: DraftForm };

/** The fields for fallback messages. */
function FallbackFields({ channel, form }: FallbackFieldsProps) {
  const { t } = useTranslation('send');
  return (
    <Section title={t('fallback.title')} description={t('fallback.hint')}>
      {fallbackChannelsOf(channel).map((next) => (
        <Fallback key={next} next={next} form={form} />
      ))}
    </Section>
  );
}

type FallbackProps = { readonly next: 'RCS' | 'SMS'; readonly form: DraftForm };

const NAMES = {
  RCS: { is: 'hasFallbackRcs', text: 'fallbackRcsText', longest: 3072 },
  SMS: { is: 'hasFallbackSms', text: 'fallbackSmsText', longest: 1530 },
} as const;

function Fallback({ next, form }: FallbackProps) {
  const { t } = useTranslation('send');
  const refusal = useSession().refusal({ scope: next });
  const { is, text, longest } = NAMES[next];
  return (
    <Stack gap="sm">
      <Checkbox
        label={t(`fallback.${next}`)}
        description={refusal === null ? undefined : t(`ui:why.${refusal}`)}
        disabled={refusal !== null}
        {...form.getInputProps(is, { type: 'checkbox' })}
      />
      {form.values[is] && (
        <Stack gap="sm" pl={{ base: 0, xs: 'xl' }}>
          {next === 'SMS' ? <SmsSender form={form} /> : <NetworkSender network="RCS" form={form} />}
          <Textarea
            label={t(`fallback.text.${next}`)}
            withAsterisk
            autosize
            minRows={3}
            maxRows={10}
            maxLength={longest}
            dir="auto"
            {...form.getInputProps(text)}
          />
        </Stack>
      )}
    </Stack>
  );
}

/** The messages sent from this page, newest first, each polled until it has a final status. */
function SentList({ sent }: { readonly sent: readonly Sent[] }) {
  const { t } = useTranslation('send');
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (sent.length > 0) list.current?.scrollIntoView({ block: 'nearest' });
  }, [sent.length]);
  return (
    <div role="status" ref={list}>
      {sent.length > 0 && (
        <Paper component="section" p="lg" mb="md">
          <Stack gap="sm">
            <Title order={2} size="h4">
              {t('sent.title')}
            </Title>
            <ul className={classes.sent} aria-label={t('sent.title')}>
              {sent.map((message) => (
                <li key={message.messageId}>
                  <SentMessage message={message} />
                </li>
              ))}
            </ul>
          </Stack>
        </Paper>
      )}
    </div>
  );
}

function SentMessage({ message: { messageId, channel, destination, hasFallback } }: { readonly message: Sent }) {
  const { t } = useTranslation('send');
  const mayFollow = useSession().may({ scope: 'tracking' });
  const { data } = useQuery({ ...statusQuery(messageId), enabled: mayFollow });
  const words = [data?.errorCode, data?.errorMessage].filter((word) => word).join(' · ');
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          <ChannelBadge channel={channel} />
          <Text size="sm" fw={500}>
            <MsisdnText number={data?.destination ?? destination} />
          </Text>
        </Group>
        <MessageStatus status={data?.readAt ? 'READ' : (data?.deliveryStatus ?? 'ACCEPTED')} />
      </Group>
      {hasFallback && data && hasFailed(data.deliveryStatus) && <Text size="xs">{t('sent.next')}</Text>}
      {words !== '' && <MessageText text={t('sent.words', { words })} size="xs" />}
      {mayFollow && <TextLink to={`/messages/${messageId}`}>{t('sent.open')}</TextLink>}
    </Stack>
  );
}

/** The field for the recipient: a number, typed or of a contact. */
function RecipientField({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  const [isSearching, setIsSearching] = useState(false);
  const { destination, contactName } = form.values;
  const take = ({ name, phoneNumber }: FoundContact): void => {
    form.setValues({ destination: phoneNumber, contactName: name });
    form.clearFieldError('destination');
  };
  return (
    <Stack gap="xs">
      <TextInput
        type="tel"
        label={t('number')}
        description={contactName === '' ? t('numberHint') : t('numberOf', { name: contactName })}
        withAsterisk
        autoComplete="off"
        maxLength={50}
        value={destination}
        error={form.errors['destination']}
        onChange={(event) => take({ name: '', phoneNumber: event.currentTarget.value })}
      />
      <Group>
        <GuardedButton
          need={{ scope: 'contacts', write: false }}
          variant="default"
          size="compact-sm"
          leftSection={<BookUser size={15} />}
          aria-expanded={isSearching}
          onClick={() => setIsSearching(!isSearching)}
        >
          {t(isSearching ? 'contactsClose' : 'contactsOpen')}
        </GuardedButton>
      </Group>
      {isSearching && (
        <ContactSearch
          kind="choose"
          chosen={[numberOf(form.values)]}
          onChoose={(contact) => {
            take(contact);
            setIsSearching(false);
          }}
        />
      )}
    </Stack>
  );
}

type SenderFieldProps = { readonly channel: Channel; readonly form: DraftForm };

/** The field for the sender: a name or number on SMS, a number or agent of the account on networks. */
function SenderField({ channel, form }: SenderFieldProps) {
  return channel === 'SMS' ? <SmsSender form={form} /> : <NetworkSender network={channel} form={form} />;
}

function SmsSender({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  return (
    <TextInput
      label={t('smsSender')}
      description={t('smsSenderHint')}
      withAsterisk
      maxLength={17}
      autoComplete="off"
      {...form.getInputProps('smsSender')}
    />
  );
}

type NetworkSenderProps = { readonly network: Network; readonly form: DraftForm };

/** The select for the sender; the first is preselected, because most accounts have only one. */
function NetworkSender({ network, form }: NetworkSenderProps) {
  const { t } = useTranslation('send');
  const { data = [], error, isPending, refetch } = useQuery(senderQuery(network));
  const first = data[0]?.value;
  const { setFieldValue } = form;
  const isOpen = form.values[network].sender === '';
  useEffect(() => {
    if (isOpen && first !== undefined) setFieldValue(`${network}.sender`, first);
  }, [isOpen, first, network, setFieldValue]);
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!isPending && data.length === 0) return <Alert color="amber">{t(`noSender.${network}`)}</Alert>;
  return (
    <NativeSelect
      label={t(`sender.${network}`)}
      data={[...data]}
      disabled={isPending}
      withAsterisk
      {...form.getInputProps(`${network}.sender`)}
    />
  );
}

type SendBarProps = { readonly channel: Channel; readonly state: SendState };

/** The simulation switch, the send button, and the reasons for a rejection. */
function SendBar({ channel, state: { form, busy, refusals } }: SendBarProps) {
  const { t } = useTranslation('send');
  return (
    <Paper p="lg">
      <Stack gap="md">
        {refusals.length > 0 && (
          <Alert color="red" title={t('refused')} role="alert">
            <List size="sm">
              {refusals.map((reason) => (
                <List.Item key={reason}>{reason}</List.Item>
              ))}
            </List>
          </Alert>
        )}
        <Group justify="space-between" gap="lg">
          <Switch
            label={t('simulation')}
            description={t(form.values.simulation ? 'simulationEnds' : 'simulationHint')}
            style={{ flex: '1 1 280px' }}
            {...form.getInputProps('simulation', { type: 'checkbox' })}
          />
          <GuardedButton type="submit" need={{ scope: channel }} leftSection={<Send size={16} />} loading={busy}>
            {t(form.values.simulation ? 'simulate' : 'send')}
          </GuardedButton>
        </Group>
      </Stack>
    </Paper>
  );
}

type ChannelChoiceProps = { readonly channel: Channel; readonly onChange: (channel: Channel) => void };

/** The choice of the channel; channels that the user may not use are disabled and show the reason. */
function ChannelChoice({ channel, onChange }: ChannelChoiceProps) {
  const { t } = useTranslation('send');
  const { refusal } = useSession();
  return (
    <Radio.Group
      label={t('channel')}
      value={channel}
      onChange={(value) => onChange(CHANNELS.find((each) => each === value) ?? channel)}
    >
      <SimpleGrid cols={{ base: 1, xs: 3 }} mt="xs" spacing="sm">
        {CHANNELS.map((scope) => {
          const why = refusal({ scope });
          return (
            <Radio
              key={scope}
              value={scope}
              label={t(`ui:channel.${scope}`)}
              description={why === null ? t(`channelHint.${scope}`) : t(`ui:why.${why}`)}
              disabled={why !== null}
            />
          );
        })}
      </SimpleGrid>
    </Radio.Group>
  );
}

const TYPING_MS = 300;
const NONE: readonly string[] = [];

/** The preview of the message, updated shortly after each change; undefined until it is known. */
function usePreview(channel: Channel, draft: Draft, placeholders = NONE): Preview | undefined {
  const body = useMemo(() => previewOf(channel, draft, placeholders), [channel, draft, placeholders]);
  const [asked] = useDebouncedValue(body, TYPING_MS);
  const { data } = useQuery({ ...previewQuery(asked), placeholderData: keepPreviousData });
  return data?.channel === channel ? data : undefined;
}
