import { type Static, Type } from 'typebox';
import type { WhatsAppContent } from '../channels/carrier.ts';
import { orNull } from '../core/schema.ts';
import type { WantedFile } from '../media/media.ts';
import { mediaReference } from '../media/store.ts';
import { RcsBody, trafficType } from '../templates/schema.ts';
import {
  clientFields,
  clientIdFields,
  Fallback,
  held,
  PhoneNumber,
  purposeFields,
  Reasons,
  Sender,
  Text,
  WhatsappPerson,
} from './send-schema.ts';

const BoundedText = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });
const link = Type.Optional(
  Type.String({
    pattern: '^https?://[^\\s]+$',
    maxLength: 2048,
    description: 'The network fetches the file from here.',
    'x-message': 'must be an http or https URL of at most 2,048 characters',
  }),
);
const mediaId = Type.Optional(
  Type.Union([
    Type.Integer({ minimum: 1, description: 'The id of one of your files (media).' }),
    BoundedText(128, 'As text: the id of a file that the network has.'),
  ]),
);
const replyTo = Type.Optional(BoundedText(255, 'The id (wamid) of the message that this one replies to.'));
const caption = Type.Optional(BoundedText(1024, 'Up to 1,024 characters.'));

/**
 * The content of a free-form message, which reaches people who wrote within 24 hours (Cloud API, messages).
 */
const WhatsappBody = Type.Union([
  Type.Object({
    type: Type.Literal('TEXT'),
    text: BoundedText(4096, 'Up to 4,096 characters.'),
    previewUrl: Type.Optional(Type.Boolean({ description: 'Show a preview of the first link.' })),
    replyTo,
  }),
  Type.Object({
    type: Type.Enum(['IMAGE', 'VIDEO', 'AUDIO', 'DOCUMENT', 'STICKER'], { type: 'string' }),
    link,
    mediaId,
    caption,
    replyTo,
    fileName: Type.Optional(BoundedText(240, 'Only for a DOCUMENT.')),
  }),
  Type.Object({
    type: Type.Literal('LOCATION'),
    latitude: Type.Number({ minimum: -90, maximum: 90 }),
    longitude: Type.Number({ minimum: -180, maximum: 180 }),
    name: Type.Optional(BoundedText(1000, 'The name of the place.')),
    address: Type.Optional(BoundedText(1000, 'The address of the place.')),
    replyTo,
  }),
  Type.Object({
    type: Type.Literal('CONTACTS'),
    contacts: Type.Array(
      Type.Object({}, { additionalProperties: true, description: 'In the format of the network.' }),
      {
        minItems: 1,
        maxItems: 257,
      },
    ),
    replyTo,
  }),
  Type.Object({
    type: Type.Literal('REACTION'),
    messageId: BoundedText(255, 'The id (wamid) of the message that the reaction belongs to.'),
    emoji: Type.String({ maxLength: 32, description: 'An empty text removes the reaction.' }),
  }),
  Type.Object({
    type: Type.Literal('INTERACTIVE'),
    interactive: Type.Object(
      { type: Type.String() },
      { additionalProperties: true, description: 'Buttons, lists and flows in the format of the network.' },
    ),
    replyTo,
  }),
]);
type WhatsappBody = Static<typeof WhatsappBody>;

type Media = Extract<WhatsappBody, { type: 'IMAGE' | 'VIDEO' | 'AUDIO' | 'DOCUMENT' | 'STICKER' }>;
const MEDIA: ReadonlySet<string> = new Set(['IMAGE', 'VIDEO', 'AUDIO', 'DOCUMENT', 'STICKER']);
const isMedia = (body: WhatsappBody): body is Media => MEDIA.has(body.type);
/** The types of media that may have a caption. */
const WITH_CAPTION: ReadonlySet<string> = new Set(['IMAGE', 'VIDEO', 'DOCUMENT']);

/** Returns the errors in a body that its schema cannot find. */
export function faultsOfBody(body: WhatsappBody): { field: string; message: string }[] {
  if (!isMedia(body)) return [];
  const faults = [];
  if ((body.link === undefined) === (body.mediaId === undefined))
    faults.push({ field: 'body.link', message: 'exactly one of link and mediaId is required' });
  if (body.caption !== undefined && !WITH_CAPTION.has(body.type))
    faults.push({ field: 'body.caption', message: `must not be given for a message of type ${body.type}` });
  return faults;
}

/** The types of files that the network accepts in a message of this type (Cloud API, messages). */
const FILE_TYPES: Readonly<Record<Media['type'], RegExp>> = {
  IMAGE: /^image\/(jpeg|png)$/,
  VIDEO: /^video\/mp4$/,
  AUDIO: /^audio\//,
  DOCUMENT: /./,
  STICKER: /^image\/webp$/,
};

/** The file of the account that a body refers to, if any. */
export const filesOfBody = (body: WhatsappBody): WantedFile[] =>
  isMedia(body) && typeof body.mediaId === 'number'
    ? [{ field: 'body.mediaId', id: body.mediaId, types: FILE_TYPES[body.type] }]
    : [];

export const textOfBody = (body: WhatsappBody): string => {
  if (body.type === 'TEXT') return body.text;
  if (body.type === 'REACTION') return body.emoji;
  return isMedia(body) ? (body.caption ?? '') : '';
};

/** The message of a body in the format of the network. */
export function toWhatsappContent(body: WhatsappBody): WhatsAppContent {
  const context = 'replyTo' in body && body.replyTo !== undefined ? { context: { message_id: body.replyTo } } : {};
  const type = body.type.toLowerCase();
  return { channel: 'WHATSAPP', message: { type, ...context, [type]: contentOf(body) } };
}

function contentOf(body: WhatsappBody): unknown {
  if (isMedia(body)) return mediaOf(body);
  switch (body.type) {
    case 'TEXT':
      return { body: body.text, preview_url: body.previewUrl ?? false };
    case 'LOCATION': {
      const { latitude, longitude, name, address } = body;
      return { latitude, longitude, ...(name !== undefined && { name }), ...(address !== undefined && { address }) };
    }
    case 'CONTACTS':
      return body.contacts;
    case 'REACTION':
      return { message_id: body.messageId, emoji: body.emoji };
    default:
      return body.interactive;
  }
}

const mediaOf = ({ type, link: from, mediaId: id, caption: captionText, fileName }: Media) => ({
  ...(typeof id === 'string' ? { id } : { link: id === undefined ? from : mediaReference(id) }),
  ...(captionText !== undefined && { caption: captionText }),
  ...(type === 'DOCUMENT' && fileName !== undefined && { filename: fileName }),
});

/** Maximum minutes for which a message on WhatsApp or RCS and its fallbacks can be valid: 15 days. */
export const MAX_RICH_VALIDITY_MINUTES = 21_600;

const shared = {
  destination: PhoneNumber,
  ...clientIdFields,
  ...clientFields,
  ...purposeFields,
  enableNotification: Type.Optional(
    Type.Boolean({ description: 'Ask for a delivery receipt (default true; always with a fallback).' }),
  ),
  scheduledDate: Type.Optional(
    Type.String({
      description: 'yyyy-MM-dd HH:mm:ss.SSSZ, for example 2027-01-31 09:00:00.000+0100, or ISO 8601 with an offset.',
    }),
  ),
  validityPeriod: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_RICH_VALIDITY_MINUTES,
      description: 'Minutes until the message and its fallbacks are no longer sent; at most 15 days.',
    }),
  ),
  simulation: Type.Optional(
    Type.Boolean({
      description:
        'Goes to no carrier and costs nothing. The last digits of the number choose the final state: 0001 and 0003 ERROR, 0002 ' +
        'EXPIRED, 0004 none, 0005 DELIVERED after 30 s, 0006 READ, 0007 UNSUPPORTED, 0008 DISABLED, 0009 ' +
        'CONVERSATION_CLOSED (WhatsApp only); any others DELIVERED after about 1 s.',
    }),
  ),
};

const Variables = Type.Optional(
  Type.Union(
    [
      Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 100 }),
      Type.Record(Type.String(), Type.String({ maxLength: 1024 })),
    ],
    {
      description:
        'The values of the placeholders, as a list in their order (header, body, buttons; on RCS sorted by name) or by name.',
    },
  ),
);

const WhatsappTemplate = Type.Object({
  id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'The id of the template; or give its name and language.' }),
  ),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  language: Type.Optional(
    Type.String({ minLength: 1, maxLength: 20, description: 'As the network writes it, for example pt_PT.' }),
  ),
  variables: Variables,
  headerLink: Type.Optional(
    Type.String({ pattern: '^https?://[^\\s]{1,2040}$', description: 'The link to the file of a media header.' }),
  ),
  components: Type.Optional(
    Type.Array(Type.Object({ type: Type.String({ maxLength: 40 }) }, { additionalProperties: true }), {
      maxItems: 20,
      description:
        'Instead of variables and headerLink, in the form of the network: needed for the payload of a quick reply, a ' +
        'coupon, a Flow, products, a carousel, an offer, the status of an order or a location. It is checked against the ' +
        'template and sent as it is.',
    }),
  ),
});

const agentId = Type.String({ minLength: 1, maxLength: 128, description: 'Your agent that sends the message.' });
const rcsContent = {
  templateId: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  variables: Variables,
  body: Type.Optional(RcsBody),
  trafficType: Type.Optional(
    trafficType(
      'The purpose of the message; by default that of the template, then that of the connection. Agents with several uses ' +
        'must state it for each message.',
    ),
  ),
};

const RcsContent = Type.Object(rcsContent);
export type RcsContent = Static<typeof RcsContent>;

const FallbackRcs = Type.Object(
  { agentId, ...rcsContent },
  { description: 'Sent when the message fails or takes too long. Requires fallbackSms, which comes after it.' },
);
export type FallbackRcs = Static<typeof FallbackRcs>;

const FallbackSms = Type.Object(
  { sender: Type.Optional(Sender), body: Text },
  { description: 'Sent last, when the messages before it fail or take too long.' },
);
export type FallbackSms = Static<typeof FallbackSms>;

export const WhatsappSendIn = Type.Object({
  phoneNumberId: Type.String({ minLength: 1, maxLength: 128, description: 'Your number that sends the message.' }),
  ...shared,
  destination: WhatsappPerson,
  template: Type.Optional(WhatsappTemplate),
  body: Type.Optional(WhatsappBody),
  fallbackRcs: Type.Optional(FallbackRcs),
  fallbackSms: Type.Optional(FallbackSms),
  fallback: Type.Optional(Fallback),
});

export const WHATSAPP_EXAMPLE: Static<typeof WhatsappSendIn> = {
  phoneNumberId: '100000000000001',
  destination: '+393331234567',
  customerMessageId: 'order-4712',
  template: { name: 'sandbox_welcome', language: 'en', variables: ['Ada'] },
  fallbackSms: { sender: 'ACME', body: 'Your parcel arrives today' },
};
export type WhatsappSendIn = Static<typeof WhatsappSendIn>;

export const RcsSendIn = Type.Object({
  agentId,
  ...shared,
  ...rcsContent,
  fallbackSms: Type.Optional(FallbackSms),
  fallback: Type.Optional(Fallback),
});

export const RCS_EXAMPLE: Static<typeof RcsSendIn> = {
  agentId: 'sandbox',
  destination: '+393331234567',
  customerMessageId: 'order-4713',
  body: {
    type: 'CARD',
    card: {
      title: 'Your parcel arrives today',
      description: 'Between 14:00 and 16:00. Will you be at home?',
      suggestions: [{ reply: { text: 'Yes', postbackData: 'home-yes' } }],
    },
  },
  fallbackSms: { sender: 'ACME', body: 'Your parcel arrives today' },
};
export type RcsSendIn = Static<typeof RcsSendIn>;

const Result = Type.Object({ accepted: Type.Boolean(), reasons: Reasons, ...held });
const answerOf = (results: Record<string, typeof Result>) =>
  Type.Object(
    {
      messageId: orNull(Type.String({ description: 'Our id; null when the message was rejected.' })),
      customerMessageId: orNull(Type.String()),
      simulation: Type.Boolean(),
      results: Type.Object(results),
    },
    { description: 'The message is committed. A rejected message has `accepted: false` and its reasons.' },
  );

export const WhatsappSendOut = answerOf({ whatsapp: Result });
export const RcsSendOut = answerOf({ rcs: Result });
