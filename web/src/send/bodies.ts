import type { Paths } from '../api/client.ts';
import { type Channel, type Draft, type NetworkDraft, numberOf, repliesOf } from './draft.ts';

type BodyOf<P extends keyof Paths> = Paths[P] extends {
  post: { requestBody: { content: { 'application/json': infer B } } };
}
  ? B
  : never;
export type PreviewBody = BodyOf<'/api/partner-gateway/v1/messages/preview'>;
export type SmsBody = BodyOf<'/api/message-server/sms/send'>;
export type WhatsappBody = BodyOf<'/api/message-server/whatsapp/send'>;
export type RcsBody = BodyOf<'/api/message-server/rcs/send'>;

const orNone = (text: string): string | undefined => (text === '' ? undefined : text);

/** The preview request for the input so far. Placeholders without a value keep their names. */
export function previewOf(channel: Channel, draft: Draft, placeholders: readonly string[]): PreviewBody {
  const destination = orNone(numberOf(draft));
  if (channel === 'SMS') return { channel, destination, sender: orNone(draft.smsSender), text: orNone(draft.text) };
  const network = draft[channel];
  const sender = orNone(network.sender);
  const variables = Object.fromEntries(placeholders.map((name) => [name, network.variables[name] || `{{${name}}}`]));
  if (channel === 'WHATSAPP')
    return { channel, destination, sender, ...whatsappContent({ ...draft, WHATSAPP: { ...network, variables } }) };
  return { channel, destination, sender, ...rcsContent({ ...draft, RCS: { ...network, variables } }) };
}

export const smsOf = (draft: Draft): SmsBody => ({
  destination: numberOf(draft),
  sender: draft.smsSender.trim(),
  body: draft.text,
  simulation: draft.simulation,
});

export const whatsappOf = (draft: Draft): WhatsappBody => ({
  phoneNumberId: draft.WHATSAPP.sender,
  destination: numberOf(draft),
  simulation: draft.simulation,
  ...whatsappContent(draft),
  ...(draft.hasFallbackRcs && {
    fallbackRcs: { agentId: draft.RCS.sender, body: { type: 'TEXT', text: draft.fallbackRcsText } },
  }),
  ...fallbackSmsOf(draft),
});

export const rcsOf = (draft: Draft): RcsBody => ({
  agentId: draft.RCS.sender,
  destination: numberOf(draft),
  simulation: draft.simulation,
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
