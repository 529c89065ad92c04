import type { Inbound, InboundMedia, InboundType } from '../events.ts';
import { listIn, memberOf, wordsIn } from '../json.ts';
import { secondsIn } from './statuses.ts';

/** What people read of a message, its kind, and its file. */
type Reading = { readonly type: InboundType; readonly text: string; readonly media?: InboundMedia | null };

/** The longest text of the sheet is 4,096 characters; what invents a longer one is cut. */
const LONGEST_TEXT = 16_384;

/**
 * One message of a person (protocol sheet whatsapp, section 7); null when it does not say who sent it or has no id. The
 * source is the number in digits, or the business-scoped user id of a person who shows no number (section 8). `raw` is
 * the item itself, with all that has no place elsewhere: what it answers, the advertisement that it came by, an order.
 */
export function readInbound(item: unknown, phoneNumberId: string, contacts: readonly unknown[]): Inbound | null {
  const id = wordsIn(item, 'id');
  const userId = wordsIn(item, 'from_user_id') || wordsIn(item, 'user_id') || userIdIn(contacts);
  const source = wordsIn(item, 'from') || userId;
  if (id === '' || source === '') return null;
  const { type, text, media = null } = readingOf(item);
  return {
    source,
    destination: phoneNumberId,
    text: text.slice(0, LONGEST_TEXT).toWellFormed(),
    concat: null,
    raw: Buffer.from(JSON.stringify(item)),
    rich: {
      channel: 'WHATSAPP',
      id,
      messageType: type,
      at: secondsIn(item, 'timestamp'),
      profileName: profileNameOf(source, contacts),
      media,
    },
  };
}

/** Without a number on the item, the one contact of the request is its sender. */
const userIdIn = (contacts: readonly unknown[]): string =>
  contacts.length === 1 ? wordsIn(contacts[0], 'user_id') : '';

function profileNameOf(source: string, contacts: readonly unknown[]): string | null {
  const own = contacts.find((contact) => [wordsIn(contact, 'wa_id'), wordsIn(contact, 'user_id')].includes(source));
  return wordsIn(memberOf(own, 'profile'), 'name') || null;
}

const FILES: ReadonlyMap<string, InboundType> = new Map([
  ['image', 'IMAGE'],
  ['video', 'VIDEO'],
  ['audio', 'AUDIO'],
  ['document', 'DOCUMENT'],
  ['sticker', 'STICKER'],
]);

function readingOf(item: unknown): Reading {
  const type = wordsIn(item, 'type');
  const content = memberOf(item, type);
  const file = FILES.get(type);
  if (file) return { type: file, text: wordsIn(content, 'caption'), media: mediaOf(content) };
  switch (type) {
    case 'text':
      return { type: 'TEXT', text: wordsIn(content, 'body') };
    case 'location':
      return { type: 'LOCATION', text: wordsOfLocation(content) };
    case 'contacts':
      return { type: 'CONTACTS', text: listIn(item, 'contacts').map(wordsOfCard).join('\n') };
    case 'reaction':
      return { type: 'REACTION', text: wordsIn(content, 'emoji') };
    case 'button':
      return { type: 'BUTTON', text: wordsIn(content, 'text') || wordsIn(content, 'payload') };
    case 'interactive':
      return { type: 'BUTTON', text: wordsOfReply(content) };
    default:
      return { type: 'OTHER', text: wordsOfOther(type, item) };
  }
}

function mediaOf(content: unknown): InboundMedia | null {
  const id = wordsIn(content, 'id');
  if (id === '') return null;
  // Newer payloads add an address that needs our token: by the id the network tells a fresh one.
  return {
    id,
    url: null,
    mimeType: wordsIn(content, 'mime_type') || null,
    fileName: wordsIn(content, 'filename') || null,
  };
}

function wordsOfLocation(content: unknown): string {
  const [latitude, longitude] = [memberOf(content, 'latitude'), memberOf(content, 'longitude')];
  const place = typeof latitude === 'number' && typeof longitude === 'number' ? `${latitude}, ${longitude}` : '';
  return joined([wordsIn(content, 'name'), wordsIn(content, 'address'), place]);
}

function wordsOfCard(card: unknown): string {
  const phones = listIn(card, 'phones').map((phone) => wordsIn(phone, 'phone'));
  return joined([wordsIn(memberOf(card, 'name'), 'formatted_name'), ...phones]);
}

/** A pressed button, a row of a list, or the answers of a flow, which are JSON that the flow's maker understands. */
function wordsOfReply(content: unknown): string {
  const reply = memberOf(content, wordsIn(content, 'type'));
  return wordsIn(reply, 'title') || joined([wordsIn(reply, 'body'), wordsIn(reply, 'response_json')]);
}

/** Of an order, a notice of the system, or a kind that the network does not pass on, as much as there is to read. */
function wordsOfOther(type: string, item: unknown): string {
  if (type === 'order') return wordsOfOrder(memberOf(item, 'order'));
  const [error] = listIn(item, 'errors');
  return wordsIn(memberOf(item, type), 'body') || wordsIn(error, 'title');
}

function wordsOfOrder(order: unknown): string {
  const products = listIn(order, 'product_items').map((product) => {
    const quantity = memberOf(product, 'quantity');
    return `${typeof quantity === 'number' ? quantity : 1} × ${wordsIn(product, 'product_retailer_id')}`;
  });
  return joined([wordsIn(order, 'text'), ...products]);
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(', ');
