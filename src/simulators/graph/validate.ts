import { getList, getMember, getText } from '../../carriers/json.ts';
import type { Fault } from './answer.ts';
import { interactiveFault } from './validate-interactive.ts';

const missing = (details: string): Fault => ({ code: 131008, details });
const bad = (details: string): Fault => ({ code: 131009, details });

const MAX_TEXT_LENGTH = 4096;
const MAX_CAPTION_LENGTH = 1024;
const MAX_OPAQUE_LENGTH = 512;

/** Types that take a caption. */
const MEDIA: ReadonlyMap<string, boolean> = new Map([
  ['image', true],
  ['video', true],
  ['document', true],
  ['audio', false],
  ['sticker', false],
]);

/** Everybody is known by a number or by a business-scoped user id. */
export type Recipient = { readonly kind: 'number' | 'user'; readonly to: string };

/** Whom a message goes to: `to` wins over `recipient` (protocol sheet whatsapp, section 2). */
export function recipientOf(body: unknown): Recipient | Fault {
  const to = getText(body, 'to').replaceAll(/[+\-() ]/g, '');
  if (to !== '') return /^\d{7,15}$/.test(to) ? { kind: 'number', to } : bad('to: no phone number');
  const user = getText(body, 'recipient');
  if (user === '') return missing('to');
  return /^[A-Z]{2}\.[A-Za-z0-9]{1,128}$/.test(user) ? { kind: 'user', to: user } : bad('recipient: no user id');
}

/** The frame of a message, whatever its type. */
export function frameFault(body: unknown): Fault | null {
  if (getMember(body, 'messaging_product') !== 'whatsapp') {
    return { code: 100, details: 'The parameter messaging_product is required.' };
  }
  const recipientType = getMember(body, 'recipient_type') ?? 'individual';
  if (recipientType !== 'individual' && recipientType !== 'group') return bad('recipient_type');
  const opaque = getMember(body, 'biz_opaque_callback_data');
  if (opaque === undefined) return null;
  return typeof opaque === 'string' && opaque.length <= MAX_OPAQUE_LENGTH ? null : bad('biz_opaque_callback_data');
}

/** What a free-form message must look like by its type (protocol sheet whatsapp, sections 2.1 and 2.2). */
export function contentFault(type: string, content: unknown, hasMedia: (id: string) => boolean): Fault | null {
  if (typeof content !== 'object' || content === null) return missing(type);
  const caption = MEDIA.get(type);
  if (caption !== undefined) return mediaFault(type, content, caption, hasMedia);
  switch (type) {
    case 'text':
      return textFault(content);
    case 'location':
      return locationFault(content);
    case 'contacts':
      return contactsFault(content);
    case 'reaction':
      return reactionFault(content);
    case 'interactive':
      return interactiveFault(content);
    default:
      return { code: 100, details: `Param type: ${type} is not a type of messages` };
  }
}

function textFault(content: unknown): Fault | null {
  const body = getText(content, 'body');
  if (body === '') return missing('text.body');
  return body.length > MAX_TEXT_LENGTH ? bad(`text.body: at most ${MAX_TEXT_LENGTH} characters`) : null;
}

function mediaFault(type: string, content: unknown, caption: boolean, hasMedia: (id: string) => boolean): Fault | null {
  const [id, link] = [getText(content, 'id'), getText(content, 'link')];
  if ((id === '') === (link === '')) return bad(`${type}: one of id and link`);
  if (link !== '' && !/^https?:\/\//.test(link)) return bad(`${type}.link: no URL`);
  if (id !== '' && !hasMedia(id)) return bad(`${type}.id: there is no media with this id`);
  const words = getText(content, 'caption');
  if (words !== '' && !caption) return bad(`${type}.caption: takes none`);
  return words.length > MAX_CAPTION_LENGTH ? bad(`${type}.caption: at most ${MAX_CAPTION_LENGTH} characters`) : null;
}

function locationFault(content: unknown): Fault | null {
  const within = (name: string, most: number): boolean => {
    const value = Number(getText(content, name) || numberIn(content, name));
    return Math.abs(value) <= most;
  };
  if (!within('latitude', 90)) return bad('location.latitude');
  return within('longitude', 180) ? null : bad('location.longitude');
}

function numberIn(json: unknown, name: string): number {
  const value = getMember(json, name);
  return typeof value === 'number' ? value : Number.NaN;
}

function contactsFault(content: unknown): Fault | null {
  if (!Array.isArray(content) || content.length === 0) return missing('contacts');
  const nameless = content.some((card) => getText(getMember(card, 'name'), 'formatted_name') === '');
  if (nameless) return missing('contacts.name.formatted_name');
  const odd = content.some((card) => getList(card, 'phones').some((phone) => getText(phone, 'phone') === ''));
  return odd ? bad('contacts.phones.phone') : null;
}

function reactionFault(content: unknown): Fault | null {
  if (getText(content, 'message_id') === '') return missing('reaction.message_id');
  return typeof getMember(content, 'emoji') === 'string' ? null : missing('reaction.emoji');
}
