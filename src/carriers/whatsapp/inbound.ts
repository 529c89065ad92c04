import type { Inbound, InboundMedia, InboundType } from '../events.ts';
import { getList, getMember, getText } from '../json.ts';
import { readEpochSeconds } from './statuses.ts';

/** The type of a message, its readable text, and its file. */
type InboundContent = { readonly type: InboundType; readonly text: string; readonly media?: InboundMedia | null };

/** The network allows 4,096 characters; longer texts are cut here. */
const MAX_TEXT_LENGTH = 16_384;

/**
 * Reads one inbound message (Cloud API, webhooks); null without a sender or an id. The source is the number in digits,
 * or the business-scoped user id of a person who shows no number. `metadata` names the number that it was sent to.
 * `raw` is the item itself, which also holds the quoted message, the advertisement that led to it, or an order.
 */
export function readInbound(item: unknown, metadata: unknown, contacts: readonly unknown[]): Inbound | null {
  const id = getText(item, 'id');
  const userId = getText(item, 'from_user_id') || getText(item, 'user_id') || userIdIn(contacts);
  const source = getText(item, 'from') || userId;
  if (id === '' || source === '') return null;
  const { type, text, media = null } = readContent(item);
  return {
    source,
    destination: getText(metadata, 'phone_number_id'),
    text: text.slice(0, MAX_TEXT_LENGTH).toWellFormed(),
    concat: null,
    raw: Buffer.from(JSON.stringify(item)),
    rich: {
      channel: 'WHATSAPP',
      id,
      messageType: type,
      at: readEpochSeconds(item, 'timestamp'),
      profileName: profileNameOf(source, contacts),
      ownNumber: digitsOf(getText(metadata, 'display_phone_number')),
      media,
    },
  };
}

/** Graph writes numbers for people: +351 900 000 001. */
const digitsOf = (number: string): string | null => number.replace(/\D/g, '') || null;

/** Returns the user id of the sender. Without a number in the item, the only contact of the request is its sender. */
const userIdIn = (contacts: readonly unknown[]): string =>
  contacts.length === 1 ? getText(contacts[0], 'user_id') : '';

function profileNameOf(source: string, contacts: readonly unknown[]): string | null {
  const own = contacts.find((contact) => [getText(contact, 'wa_id'), getText(contact, 'user_id')].includes(source));
  return getText(getMember(own, 'profile'), 'name') || null;
}

const FILE_TYPES: ReadonlyMap<string, InboundType> = new Map([
  ['image', 'IMAGE'],
  ['video', 'VIDEO'],
  ['audio', 'AUDIO'],
  ['document', 'DOCUMENT'],
  ['sticker', 'STICKER'],
]);

function readContent(item: unknown): InboundContent {
  const type = getText(item, 'type');
  const content = getMember(item, type);
  const file = FILE_TYPES.get(type);
  if (file) return { type: file, text: getText(content, 'caption'), media: mediaOf(content) };
  switch (type) {
    case 'text':
      return { type: 'TEXT', text: getText(content, 'body') };
    case 'location':
      return { type: 'LOCATION', text: locationText(content) };
    case 'contacts':
      return { type: 'CONTACTS', text: getList(item, 'contacts').map(contactText).join('\n') };
    case 'reaction':
      return { type: 'REACTION', text: getText(content, 'emoji') };
    case 'button':
      return { type: 'BUTTON', text: getText(content, 'text') || getText(content, 'payload') };
    case 'interactive':
      return { type: 'BUTTON', text: replyText(content) };
    default:
      return { type: 'OTHER', text: otherText(type, item) };
  }
}

function mediaOf(content: unknown): InboundMedia | null {
  const id = getText(content, 'id');
  if (id === '') return null;
  // Newer payloads also contain a URL that needs our token; a fresh one can be requested by the id.
  return {
    id,
    url: null,
    mimeType: getText(content, 'mime_type') || null,
    fileName: getText(content, 'filename') || null,
  };
}

function locationText(content: unknown): string {
  const [latitude, longitude] = [getMember(content, 'latitude'), getMember(content, 'longitude')];
  const place = typeof latitude === 'number' && typeof longitude === 'number' ? `${latitude}, ${longitude}` : '';
  return joinParts([getText(content, 'name'), getText(content, 'address'), place]);
}

function contactText(card: unknown): string {
  const phones = getList(card, 'phones').map((phone) => getText(phone, 'phone'));
  return joinParts([getText(getMember(card, 'name'), 'formatted_name'), ...phones]);
}

/**
 * Returns the text of a pressed button, a chosen list row, or the replies in a flow, which are JSON in the flow's own
 * format.
 */
function replyText(content: unknown): string {
  const reply = getMember(content, getText(content, 'type'));
  return getText(reply, 'title') || joinParts([getText(reply, 'body'), getText(reply, 'response_json')]);
}

/** The readable text of an order, a system notice, or a message type that the network does not pass on. */
function otherText(type: string, item: unknown): string {
  if (type === 'order') return orderText(getMember(item, 'order'));
  const [error] = getList(item, 'errors');
  return getText(getMember(item, type), 'body') || getText(error, 'title');
}

function orderText(order: unknown): string {
  const products = getList(order, 'product_items').map((product) => {
    const quantity = getMember(product, 'quantity');
    return `${typeof quantity === 'number' ? quantity : 1} × ${getText(product, 'product_retailer_id')}`;
  });
  return joinParts([getText(order, 'text'), ...products]);
}

const joinParts = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(', ');
