import { type Static, Type } from 'typebox';
import type { WhatsAppContent } from '../../../carriers/content.ts';
import type { WantedFile } from '../../../media/find-for-send.ts';
import { referenceTo } from '../../../media/reference.ts';

const Words = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });
const link = Type.Optional(
  Type.String({
    pattern: '^https?://[^\\s]+$',
    maxLength: 2048,
    description: 'The network fetches it from here.',
    'x-message': 'must be an http or https address of at most 2,048 characters',
  }),
);
const mediaId = Type.Optional(
  Type.Union([
    Type.Integer({ minimum: 1, description: 'Of a file of yours (media).' }),
    Words(128, 'As text: of a file that the network has.'),
  ]),
);
const replyTo = Type.Optional(Words(255, 'The id (wamid) of the message that this one answers.'));
const caption = Type.Optional(Words(1024, 'Up to 1,024 characters.'));

/** What a free-form message holds; it reaches people who wrote within 24 hours (protocol sheet whatsapp, section 2). */
export const WhatsappBody = Type.Union([
  Type.Object({
    type: Type.Literal('TEXT'),
    text: Words(4096, 'Up to 4,096 characters.'),
    previewUrl: Type.Optional(Type.Boolean({ description: 'Show what the first link leads to.' })),
    replyTo,
  }),
  Type.Object({
    type: Type.Enum(['IMAGE', 'VIDEO', 'AUDIO', 'DOCUMENT', 'STICKER'], { type: 'string' }),
    link,
    mediaId,
    caption,
    replyTo,
    fileName: Type.Optional(Words(240, 'Of a DOCUMENT.')),
  }),
  Type.Object({
    type: Type.Literal('LOCATION'),
    latitude: Type.Number({ minimum: -90, maximum: 90 }),
    longitude: Type.Number({ minimum: -180, maximum: 180 }),
    name: Type.Optional(Words(1000, 'Of the place.')),
    address: Type.Optional(Words(1000, 'Of the place.')),
    replyTo,
  }),
  Type.Object({
    type: Type.Literal('CONTACTS'),
    contacts: Type.Array(Type.Object({}, { additionalProperties: true, description: 'As the network writes them.' }), {
      minItems: 1,
      maxItems: 257,
    }),
    replyTo,
  }),
  Type.Object({
    type: Type.Literal('REACTION'),
    messageId: Words(255, 'The id (wamid) of the message.'),
    emoji: Type.String({ maxLength: 32, description: 'Empty takes a reaction back.' }),
  }),
  Type.Object({
    type: Type.Literal('INTERACTIVE'),
    interactive: Type.Object(
      { type: Type.String() },
      { additionalProperties: true, description: 'Buttons, lists and flows as the network writes them.' },
    ),
    replyTo,
  }),
]);
export type WhatsappBody = Static<typeof WhatsappBody>;

type Media = Extract<WhatsappBody, { type: 'IMAGE' | 'VIDEO' | 'AUDIO' | 'DOCUMENT' | 'STICKER' }>;
const MEDIA: ReadonlySet<string> = new Set(['IMAGE', 'VIDEO', 'AUDIO', 'DOCUMENT', 'STICKER']);
const isMedia = (body: WhatsappBody): body is Media => MEDIA.has(body.type);
/** The others have none. */
const WITH_CAPTION: ReadonlySet<string> = new Set(['IMAGE', 'VIDEO', 'DOCUMENT']);

/** What is wrong with a body that its schema cannot judge. */
export function faultsOfBody(body: WhatsappBody): { field: string; message: string }[] {
  if (!isMedia(body)) return [];
  const faults = [];
  if ((body.link === undefined) === (body.mediaId === undefined))
    faults.push({ field: 'body.link', message: 'exactly one of link and mediaId is required' });
  if (body.caption !== undefined && !WITH_CAPTION.has(body.type))
    faults.push({ field: 'body.caption', message: `a message of type ${body.type} has none` });
  return faults;
}

/** Types of files that the network takes in a message of this type (protocol sheet whatsapp, section 2). */
const HOLDS: Readonly<Record<Media['type'], RegExp>> = {
  IMAGE: /^image\/(jpeg|png)$/,
  VIDEO: /^video\/mp4$/,
  AUDIO: /^audio\//,
  DOCUMENT: /./,
  STICKER: /^image\/webp$/,
};

/** The file of the account that a body names. */
export const filesOfBody = (body: WhatsappBody): WantedFile[] =>
  isMedia(body) && typeof body.mediaId === 'number'
    ? [{ field: 'body.mediaId', id: body.mediaId, types: HOLDS[body.type] }]
    : [];

/** What people read of it. */
export const textOfBody = (body: WhatsappBody): string => {
  if (body.type === 'TEXT') return body.text;
  if (body.type === 'REACTION') return body.emoji;
  return isMedia(body) ? (body.caption ?? '') : '';
};

/** The network's message. */
export function toWhatsappContent(body: WhatsappBody): WhatsAppContent {
  const replied = 'replyTo' in body && body.replyTo !== undefined ? { context: { message_id: body.replyTo } } : {};
  const type = body.type.toLowerCase();
  return { channel: 'WHATSAPP', message: { type, ...replied, [type]: contentOf(body) } };
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

const mediaOf = ({ type, link: from, mediaId: id, caption: words, fileName }: Media) => ({
  ...(typeof id === 'string' ? { id } : { link: id === undefined ? from : referenceTo(id) }),
  ...(words !== undefined && { caption: words }),
  ...(type === 'DOCUMENT' && fileName !== undefined && { filename: fileName }),
});
