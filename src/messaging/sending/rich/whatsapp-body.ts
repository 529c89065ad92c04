import { type Static, Type } from 'typebox';
import type { WhatsAppContent } from '../../../carriers/content.ts';
import type { WantedFile } from '../../../media/for-send.ts';
import { mediaReference } from '../../../media/reference.ts';

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
export const WhatsappBody = Type.Union([
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
export type WhatsappBody = Static<typeof WhatsappBody>;

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

/** The readable text of a body. */
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
