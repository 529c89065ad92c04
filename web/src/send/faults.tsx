import { Alert, List, Stack } from '@mantine/core';
import type { FormErrors } from '@mantine/form';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { sameOriginUrl } from '../api/media.ts';
import { senderQuery, type TemplateOption } from '../api/networks.ts';
import { api, type FieldFault, ok, type Paths } from '../api/send.ts';
import { useFormat } from '../ui/format.ts';
import { PhonePreview } from '../ui/message.tsx';
import { Section } from '../ui/parts.tsx';
import { type Fact, Facts, Money } from '../ui/values.tsx';
import {
  type Channel,
  type Draft,
  enabledFallbacksOf,
  hasText,
  isNetwork,
  type NetworkDraft,
  numberOf,
  repliesOf,
  tlvsOf,
} from './draft.ts';

/** The form field for each API field. The first match applies, so longer paths come before shorter ones. */
const PLACES: Readonly<Record<Channel, readonly (readonly [field: string, place: string])[]>> = {
  SMS: [
    ['destination', 'destination'],
    ['sender', 'smsSender'],
    ['body', 'text'],
    ['text', 'text'],
    ['tlvs', 'tlvs'],
  ],
  WHATSAPP: [
    ['destination', 'destination'],
    ['phoneNumberId', 'WHATSAPP.sender'],
    ['sender', 'WHATSAPP.sender'],
    ['template.headerLink', 'WHATSAPP.headerLink'],
    ['template.variables', 'variables'],
    ['template', 'WHATSAPP.templateId'],
    ['body', 'text'],
    ['fallbackRcs.agentId', 'RCS.sender'],
    ['fallbackRcs', 'fallbackRcsText'],
    ['fallbackSms.sender', 'smsSender'],
    ['fallbackSms', 'fallbackSmsText'],
  ],
  RCS: [
    ['destination', 'destination'],
    ['agentId', 'RCS.sender'],
    ['sender', 'RCS.sender'],
    ['variables', 'variables'],
    ['templateId', 'RCS.templateId'],
    ['body.card.title', 'cardTitle'],
    ['body.card.media', 'picture'],
    ['body.card.suggestions', 'replies'],
    ['body.suggestions', 'replies'],
    ['body', 'text'],
    ['fallbackSms.sender', 'smsSender'],
    ['fallbackSms', 'fallbackSmsText'],
  ],
};

/**
 * The form field for an API field; template values keep their name, such as `variables.header.1`; null if there is
 * none.
 */
export function placeOf(channel: Channel, field: string): string | null {
  const found = PLACES[channel].find(
    ([name]) => field === name || (/^[.[]/.test(field.slice(name.length)) && field.startsWith(name)),
  );
  if (found === undefined) return null;
  const [name, place] = found;
  return place === 'variables' ? `variables${field.slice(name.length)}` : place;
}

type GroupedFaults = {
  readonly errors: Readonly<Record<string, string>>;
  readonly others: readonly FieldFault[];
};

/** Groups the server's errors by form field; `others` are those without a field. */
export function groupFaults(channel: Channel, faults: readonly FieldFault[]): GroupedFaults {
  const errors: Record<string, string> = {};
  const others: FieldFault[] = [];
  for (const fault of faults) {
    const place = placeOf(channel, fault.field);
    if (place === null || place === 'variables') others.push(fault);
    else errors[place] = errors[place] === undefined ? fault.message : `${errors[place]}; ${fault.message}`;
  }
  return { errors, others };
}

/** The required form fields that are empty. */
export function missingOf(channel: Channel, draft: Draft, template: Wanted | undefined): readonly string[] {
  return [...missingContent(channel, draft, template), ...missingFallback(channel, draft)];
}

type Wanted = { readonly placeholders: readonly string[]; readonly wantsFile: boolean };

function missingContent(channel: Channel, draft: Draft, template: Wanted | undefined): string[] {
  const missing = draft.destination.trim() === '' ? ['destination'] : [];
  if (channel === 'SMS') {
    if (draft.smsSender.trim() === '') missing.push('smsSender');
  } else if (draft[channel].sender === '') missing.push(`${channel}.sender`);
  const isCard = channel === 'RCS' && draft.RCS.kind === 'card';
  if (isCard && draft.cardTitle === '' && draft.text === '' && draft.picture === null) missing.push('cardTitle');
  if (hasText(channel, draft)) return draft.text === '' && !isCard ? [...missing, 'text'] : missing;
  return [...missing, ...missingOfTemplate(channel, draft, template)];
}

function missingOfTemplate(channel: Channel, draft: Draft, template: Wanted | undefined): string[] {
  if (channel === 'SMS') return [];
  const { templateId, variables, headerLink } = draft[channel];
  if (templateId === '' || template === undefined) return [`${channel}.templateId`];
  const values = template.placeholders.filter((name) => !variables[name]).map((name) => `variables.${name}`);
  return template.wantsFile && headerLink.trim() === '' ? [...values, `${channel}.headerLink`] : values;
}

function missingFallback(channel: Channel, draft: Draft): string[] {
  const after = enabledFallbacksOf(channel, draft);
  const fields = [
    ['RCS', 'RCS.sender', draft.RCS.sender],
    ['RCS', 'fallbackRcsText', draft.fallbackRcsText],
    ['SMS', 'smsSender', draft.smsSender.trim()],
    ['SMS', 'fallbackSmsText', draft.fallbackSmsText],
  ] as const;
  return fields.filter(([next, , value]) => after.includes(next) && value === '').map(([, place]) => place);
}

type PreviewPanelProps = {
  readonly channel: Channel;
  readonly draft: Draft;
  readonly template: TemplateOption | undefined;
  readonly preview: Preview | undefined;
};

/** The preview of the message, its price, and the reasons that prevent sending it. */
export function PreviewPanel({ errors, ...shown }: PreviewPanelProps & { readonly errors: FormErrors }) {
  const { channel, draft, preview } = shown;
  const { t } = useTranslation('send');
  const facts = useFacts(draft, preview);
  /** Problems already shown at form fields are not repeated; credit does not matter for a simulation. */
  const isNew = (field: string): boolean => {
    const place = placeOf(channel, field);
    return field === 'credit' ? !draft.simulation : place === null || errors[place] === undefined;
  };
  return (
    <Section title={t('preview')}>
      <Stack gap="md">
        <Phone {...shown} />
        <Facts facts={facts} />
        {preview && <Problems channel={channel} problems={preview.problems.filter(({ field }) => isNew(field))} />}
      </Stack>
    </Section>
  );
}

function Phone({ channel, draft, template, preview }: PreviewPanelProps) {
  const sender = useSenderName(channel, draft);
  const isCard = channel === 'RCS' && draft.RCS.kind === 'card';
  if (!isCard) {
    const isText = channel === 'SMS' || draft[channel].kind === 'text';
    const replies = channel === 'RCS' ? repliesOf(draft) : [];
    const buttons = isText ? replies : (template?.buttons ?? []);
    const text = isText ? draft.text : template === undefined ? '' : (preview?.text ?? '');
    return <PhonePreview channel={channel} sender={sender} text={text} buttons={buttons} />;
  }
  const { cardTitle, text, picture } = draft;
  const image = picture?.isImage ? sameOriginUrl(picture.url) : undefined;
  const title = cardTitle === '' ? undefined : cardTitle;
  const buttons = repliesOf(draft);
  return <PhonePreview {...{ channel, sender, text, image, title, buttons }} />;
}

function useSenderName(channel: Channel, draft: Draft): string {
  const network = isNetwork(channel) ? channel : 'RCS';
  const { data = [] } = useQuery({ ...senderQuery(network), enabled: isNetwork(channel) });
  if (!isNetwork(channel)) return draft.smsSender;
  return data.find(({ value }) => value === draft[channel].sender)?.label ?? '';
}

function useFacts(draft: Draft, preview: Preview | undefined): readonly Fact[] {
  const { t, i18n } = useTranslation('send');
  const format = useFormat();
  if (preview === undefined) return [{ label: t('price'), value: '–' }];
  const { price, currency, country, parts, unitPrice, channel } = preview;
  const priced =
    price === null ? t(country === null ? 'priceLater' : 'noPrice') : <Money amount={price} currency={currency} />;
  const countries = new Intl.DisplayNames([i18n.language], { type: 'region' });
  return [
    { label: t('price'), value: draft.simulation ? t('free') : priced },
    ...(channel === 'SMS' && preview.text !== '' ? [{ label: t('parts'), value: format.number(parts) }] : []),
    ...(channel === 'SMS' && unitPrice !== null && parts > 1
      ? [{ label: t('partPrice'), value: <Money amount={unitPrice} currency={currency} /> }]
      : []),
    ...(preview.held === null
      ? []
      : [
          {
            label: t('held'),
            value: t('heldBy', { until: format.exact(new Date(preview.held.until)), rule: preview.held.rule }),
          },
        ]),
    ...(country === null ? [] : [{ label: t('country'), value: countries.of(country) ?? country }]),
  ];
}

type ProblemsProps = { readonly channel: Channel; readonly problems: Preview['problems'] };

function Problems({ channel, problems }: ProblemsProps) {
  const { t } = useTranslation('send');
  if (problems.length === 0) return null;
  return (
    <Alert color="amber" title={t('problems')}>
      <List size="sm">
        {problems.map(({ field, message }) => (
          <List.Item key={`${field} ${message}`}>
            {t(`field.${placeOf(channel, field) ?? field}`, { defaultValue: field })}: {message}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}

type BodyOf<P extends keyof Paths> = Paths[P] extends {
  post: { requestBody: { content: { 'application/json': infer B } } };
}
  ? B
  : never;
type PreviewBody = BodyOf<'/api/partner-gateway/v1/messages/preview'>;
type SmsBody = BodyOf<'/api/message-server/sms/send'>;
type WhatsappBody = BodyOf<'/api/message-server/whatsapp/send'>;
type RcsBody = BodyOf<'/api/message-server/rcs/send'>;

const orNone = (text: string): string | undefined => (text === '' ? undefined : text);

/** The preview request for the input so far. Placeholders without a value keep their names. */
export function previewOf(channel: Channel, draft: Draft, placeholders: readonly string[]): PreviewBody {
  const destination = orNone(numberOf(draft));
  const purpose = purposeOf(draft);
  if (channel === 'SMS')
    return { channel, destination, sender: orNone(draft.smsSender), text: orNone(draft.text), ...purpose };
  const network = draft[channel];
  const sender = orNone(network.sender);
  const variables = Object.fromEntries(placeholders.map((name) => [name, network.variables[name] || `{{${name}}}`]));
  if (channel === 'WHATSAPP')
    return {
      channel,
      destination,
      sender,
      ...purpose,
      ...whatsappContent({ ...draft, WHATSAPP: { ...network, variables } }),
    };
  return { channel, destination, sender, ...purpose, ...rcsContent({ ...draft, RCS: { ...network, variables } }) };
}

const purposeOf = ({ purpose, respectCalendar }: Draft) => ({
  ...(purpose !== '' && { purpose }),
  ...(respectCalendar && { respectCalendar }),
});

const smsOf = (draft: Draft): SmsBody => ({
  destination: numberOf(draft),
  sender: draft.smsSender.trim(),
  body: draft.text,
  simulation: draft.simulation,
  ...(draft.tlvs.trim() !== '' && { tlvs: tlvsOf(draft) }),
  ...purposeOf(draft),
});

const whatsappOf = (draft: Draft): WhatsappBody => ({
  phoneNumberId: draft.WHATSAPP.sender,
  destination: numberOf(draft),
  simulation: draft.simulation,
  ...purposeOf(draft),
  ...whatsappContent(draft),
  ...(draft.hasFallbackRcs && {
    fallbackRcs: { agentId: draft.RCS.sender, body: { type: 'TEXT', text: draft.fallbackRcsText } },
  }),
  ...fallbackSmsOf(draft),
});

const rcsOf = (draft: Draft): RcsBody => ({
  agentId: draft.RCS.sender,
  destination: numberOf(draft),
  simulation: draft.simulation,
  ...purposeOf(draft),
  ...rcsContent(draft),
  ...fallbackSmsOf(draft),
});

const fallbackSmsOf = ({ hasFallbackSms, smsSender, fallbackSmsText }: Draft) =>
  hasFallbackSms && { fallbackSms: { sender: smsSender.trim(), body: fallbackSmsText } };

function whatsappContent({ WHATSAPP, text }: Draft): Pick<WhatsappBody, 'template' | 'body'> {
  if (WHATSAPP.kind !== 'template') return text === '' ? {} : { body: { type: 'TEXT', text } };
  if (WHATSAPP.templateId === '') return {};
  const { templateId: id, variables, headerLink } = WHATSAPP;
  return { template: { id, variables, headerLink: orNone(headerLink.trim()) } };
}

function rcsContent(draft: Draft): Pick<RcsBody, 'templateId' | 'variables' | 'body'> {
  const { RCS, text } = draft;
  if (RCS.kind === 'template') return templateOf(RCS);
  if (RCS.kind === 'card') return cardOf(draft);
  return text === '' ? {} : { body: { type: 'TEXT', text, ...suggestionsOf(draft) } };
}

const templateOf = ({ templateId, variables }: NetworkDraft) => (templateId === '' ? {} : { templateId, variables });

function cardOf(draft: Draft): Pick<RcsBody, 'body'> {
  const { cardTitle, text, picture } = draft;
  if (cardTitle === '' && text === '' && picture === null) return {};
  const media = picture && { media: { mediaId: picture.id } };
  const card = { title: orNone(cardTitle), description: orNone(text), ...media, ...suggestionsOf(draft) };
  return { body: { type: 'CARD', card } };
}

/** The suggested replies; the postback data of each is its text. */
function suggestionsOf(draft: Draft) {
  const replies = repliesOf(draft);
  return replies.length > 0 && { suggestions: replies.map((text) => ({ reply: { text, postbackData: text } })) };
}

const PG = '/api/partner-gateway/v1';
const MS = '/api/message-server';
const POLL_MS = 1_500;

/** The preview of a message: content, cost and problems so far. Nothing is sent. */
export const previewQuery = (body: PreviewBody) =>
  queryOptions({
    queryKey: ['message-preview', body],
    queryFn: ({ signal }) => ok(api.POST(`${PG}/messages/preview`, { body, signal })),
  });

export type Preview = Awaited<ReturnType<NonNullable<ReturnType<typeof previewQuery>['queryFn']>>>;

/** The result of sending: the message ID, or the reasons for the rejection. */
export type Outcome =
  | { readonly accepted: true; readonly messageId: string }
  | { readonly accepted: false; readonly reasons: readonly string[] };

/** Sends the message. Rejects with an ApiError of status 400 that names the invalid fields. */
export async function send(channel: Channel, draft: Draft): Promise<Outcome> {
  if (channel === 'WHATSAPP') return outcomeOf(await ok(api.POST(`${MS}/whatsapp/send`, { body: whatsappOf(draft) })));
  if (channel === 'RCS') return outcomeOf(await ok(api.POST(`${MS}/rcs/send`, { body: rcsOf(draft) })));
  return outcomeOf(await ok(api.POST(`${MS}/sms/send`, { body: smsOf(draft) })));
}

type Refusable = { readonly reasons: readonly string[] };
type Answer = {
  readonly messageId: string | null;
  readonly results: readonly Refusable[] | Readonly<Record<string, Refusable>>;
};

function outcomeOf({ messageId, results }: Answer): Outcome {
  if (messageId !== null) return { accepted: true, messageId };
  return { accepted: false, reasons: Object.values(results).flatMap(({ reasons }: Refusable) => reasons) };
}

/** Returns true if a message has no final status yet. */
const isPending = (status: string): boolean => status === 'ACCEPTED' || status === 'UNKNOWN';

/** Returns true if a message has ended without being delivered. */
export const hasFailed = (status: string): boolean =>
  !isPending(status) && status !== 'DELIVERED' && status !== 'DELETED';

/** The status of a message, polled until it is final. */
export const statusQuery = (messageId: string) =>
  queryOptions({
    queryKey: ['message', messageId, 'status'],
    queryFn: async ({ signal }) => {
      const params = { query: { q: messageId, limit: 1 } };
      return (await ok(api.GET(`${PG}/messages`, { params, signal }))).data[0] ?? null;
    },
    refetchInterval: ({ state: { data } }) => (data && !isPending(data.deliveryStatus) ? false : POLL_MS),
  });
