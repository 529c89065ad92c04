import { getList, getMember, getText } from '../../carriers/json.ts';
import { isUserId } from '../../platform/lib/phone/user-id.ts';
import type { Fault } from './answer.ts';
import { interactiveFault } from './validate-interactive.ts';

const missing = (details: string): Fault => ({ code: 131008, details });
const bad = (details: string): Fault => ({ code: 131009, details });

const MAX_TEXT_LENGTH = 4096;
const MAX_CAPTION_LENGTH = 1024;
const MAX_OPAQUE_LENGTH = 512;

/** The media types; true if a type may have a caption. */
const ALLOWS_CAPTION: ReadonlyMap<string, boolean> = new Map([
  ['image', true],
  ['video', true],
  ['document', true],
  ['audio', false],
  ['sticker', false],
]);

/** A recipient, by number or by business-scoped user id. */
export type Recipient = { readonly kind: 'number' | 'user'; readonly to: string };

/** Returns the recipient of a message: `to` takes precedence over `recipient` (Cloud API, messages). */
export function recipientOf(body: unknown): Recipient | Fault {
  const to = getText(body, 'to').replaceAll(/[+\-() ]/g, '');
  if (to !== '') return /^\d{7,15}$/.test(to) ? { kind: 'number', to } : bad('to: not a phone number');
  const user = getText(body, 'recipient');
  if (user === '') return missing('to');
  return isUserId(user) ? { kind: 'user', to: user } : bad('recipient: not a user id');
}

/** Validates the members that all types of messages share; null when they are valid. */
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

/**
 * Validates the content of a free-form message by its type (Cloud API, messages); null when
 * valid.
 */
export function contentFault(type: string, content: unknown, hasMedia: (id: string) => boolean): Fault | null {
  if (typeof content !== 'object' || content === null) return missing(type);
  const caption = ALLOWS_CAPTION.get(type);
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
      return { code: 100, details: `Param type: ${type} is not a message type` };
  }
}

function textFault(content: unknown): Fault | null {
  const body = getText(content, 'body');
  if (body === '') return missing('text.body');
  return body.length > MAX_TEXT_LENGTH ? bad(`text.body: at most ${MAX_TEXT_LENGTH} characters`) : null;
}

function mediaFault(type: string, content: unknown, caption: boolean, hasMedia: (id: string) => boolean): Fault | null {
  const [id, link] = [getText(content, 'id'), getText(content, 'link')];
  if ((id === '') === (link === '')) return bad(`${type}: exactly one of id and link`);
  if (link !== '' && !/^https?:\/\//.test(link)) return bad(`${type}.link: not a URL`);
  if (id !== '' && !hasMedia(id)) return bad(`${type}.id: there is no media with this id`);
  const text = getText(content, 'caption');
  if (text !== '' && !caption) return bad(`${type}.caption: not allowed`);
  return text.length > MAX_CAPTION_LENGTH ? bad(`${type}.caption: at most ${MAX_CAPTION_LENGTH} characters`) : null;
}

function locationFault(content: unknown): Fault | null {
  const isWithin = (name: string, max: number): boolean => {
    const value = Number(getText(content, name) || numberIn(content, name));
    return Math.abs(value) <= max;
  };
  if (!isWithin('latitude', 90)) return bad('location.latitude');
  return isWithin('longitude', 180) ? null : bad('location.longitude');
}

function numberIn(json: unknown, name: string): number {
  const value = getMember(json, name);
  return typeof value === 'number' ? value : Number.NaN;
}

function contactsFault(content: unknown): Fault | null {
  if (!Array.isArray(content) || content.length === 0) return missing('contacts');
  const nameless = content.some((card) => getText(getMember(card, 'name'), 'formatted_name') === '');
  if (nameless) return missing('contacts.name.formatted_name');
  const invalid = content.some((card) => getList(card, 'phones').some((phone) => getText(phone, 'phone') === ''));
  return invalid ? bad('contacts.phones.phone') : null;
}

function reactionFault(content: unknown): Fault | null {
  if (getText(content, 'message_id') === '') return missing('reaction.message_id');
  return typeof getMember(content, 'emoji') === 'string' ? null : missing('reaction.emoji');
}
