import { isUserId, toE164 } from '../../core/phone.ts';
import { isRecord } from '../../core/schema.ts';
import type { Inbound, InboundMedia, InboundNotice, InboundType } from '../carrier.ts';
import type { InboundContent, QuotedMessage, Referral, SharedContact, SharedLocation } from '../inbound-content.ts';
import { getList, getMember, getText, parseJson } from '../settings.ts';

/** The type of a message, its readable text, and its file; or a notice. */
type Read = {
  readonly type: InboundType;
  readonly text: string;
  readonly media?: InboundMedia | null;
  readonly notice?: InboundNotice;
  readonly content?: InboundContent;
};

/** The network allows 4,096 characters; longer texts are cut here. */
const MAX_TEXT_LENGTH = 16_384;

/**
 * Reads one inbound message
 * (developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages); null without a sender or an id, `nothing` if it has nothing to read:
 * a removed reaction, a welcome request, a type that is not known. The source is the number in digits,
 * or the business-scoped user id of a person who shows no number. `metadata` names the number that it was sent to.
 */
export function readInbound(
  item: unknown,
  metadata: unknown,
  contacts: readonly unknown[],
): Inbound | 'nothing' | null {
  const id = getText(item, 'id');
  const userId = getText(item, 'from_user_id') || getText(item, 'user_id') || userIdIn(contacts);
  const source = formerAddressIn(item) || getText(item, 'from') || userId;
  if (id === '' || source === '') return null;
  const { type, text, media = null, notice, content } = readContent(item);
  const all = { ...content, ...readContext(item) };
  const alias = notice ? null : otherAddressIn(item, source, userId);
  if (!notice && isEmpty({ type, text, media })) return 'nothing';
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
      ...(alias !== null && { alias }),
      ...(Object.keys(all).length > 0 && { content: all }),
      ...(notice && { notice }),
    },
  };
}

/** Types of messages whose content may be in the item alone. */
const MAY_BE_EMPTY = { TEXT: true, BUTTON: true, LOCATION: true, CONTACTS: true } as const;

const isEmpty = ({ type, text, media }: Pick<Read, 'type' | 'text' | 'media'>): boolean =>
  text.trim() === '' && media === null && !(type in MAY_BE_EMPTY);

/** Graph writes numbers for people: +351 900 000 001. */
const digitsOf = (number: string): string | null => number.replace(/\D/g, '') || null;

/** Returns the user id of the sender. Without a number in the item, the only contact of the request is its sender. */
const userIdIn = (contacts: readonly unknown[]): string =>
  contacts.length === 1 ? getText(contacts[0], 'user_id') : '';

/** Returns the user id of a sender with a number, or the number of one without. */
function otherAddressIn(item: unknown, source: string, userId: string): string | null {
  if (source === userId) return sharedNumber(item);
  return isUserId(userId) ? userId : null;
}

/**
 * Returns the number that a person without a visible one shares when asked for it
 * (developers.facebook.com/documentation/business-messaging/whatsapp/business-scoped-user-ids); cards that people send
 * by themselves may be those of others.
 */
function sharedNumber(item: unknown): string | null {
  const [card] = getList(item, 'contacts');
  if (getText(card, 'origin') !== 'contact_request') return null;
  const [phone] = getList(card, 'phones');
  return toE164(getText(phone, 'wa_id') || getText(phone, 'phone'));
}

/**
 * Reads the changes of user ids that a network reports next to the messages (the field `user_id_update`). The network
 * gives a change no id: the number that it is reported to and the two user ids identify it.
 */
export function readUserIdChange(item: unknown, metadata: unknown): Inbound | null {
  const ids = getMember(item, 'user_id');
  const [source, address] = [getText(ids, 'previous'), getText(ids, 'current')];
  if (!isUserId(source) || !isUserId(address)) return null;
  const destination = getText(metadata, 'phone_number_id');
  return {
    source,
    destination,
    text: '',
    concat: null,
    raw: Buffer.from(JSON.stringify(item)),
    rich: {
      channel: 'WHATSAPP',
      id: `user_id_update ${destination} ${source} ${address}`,
      messageType: 'OTHER',
      at: dateOf(String(getMember(item, 'timestamp'))),
      profileName: null,
      ownNumber: digitsOf(getText(metadata, 'display_phone_number')),
      media: null,
      notice: { kind: 'moved', address },
    },
  };
}

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

function readContent(item: unknown): Read {
  const type = getText(item, 'type');
  const content = getMember(item, type);
  const file = FILE_TYPES.get(type);
  if (file) return { type: file, text: getText(content, 'caption'), media: mediaOf(content) };
  switch (type) {
    case 'text':
      return { type: 'TEXT', text: getText(content, 'body') };
    case 'location':
      return { type: 'LOCATION', text: locationText(content), ...contentOf('location', readLocation(content)) };
    case 'contacts':
      return readContacts(getList(item, 'contacts'));
    case 'reaction':
      return {
        type: 'REACTION',
        text: getText(content, 'emoji'),
        ...contentOf('replyTo', quoted(content, 'message_id')),
      };
    case 'button':
      return readButton(getText(content, 'text'), getText(content, 'payload'));
    case 'interactive':
      return readReply(content);
    case 'order':
      return readOrder(content);
    case 'edit':
      // The new text is a new message; the one that it replaces stays above it.
      return readEdited(getMember(content, 'message'));
    case 'revoke':
      return noticeOf({ kind: 'deleted', messageId: getText(content, 'original_message_id') });
    case 'system':
      return readSystem(content);
    default:
      return { type: 'OTHER', text: otherText(type, item) };
  }
}

const readEdited = (message: unknown): Read => (getText(message, 'type') === 'edit' ? NOTHING : readContent(message));

const noticeOf = (notice: InboundNotice): Read => ({ type: 'OTHER', text: '', notice });
const NOTHING: Read = { type: 'OTHER', text: '' };

/**
 * Reads a system message (Cloud API, system messages webhook): the new number or user id of a person. Other changes,
 * such as that of a security code, need no action.
 */
function readSystem(content: unknown): Read {
  const kind = getText(content, 'type');
  const number = toE164(getText(content, 'wa_id') || getText(content, 'new_wa_id'));
  if (NUMBER_CHANGES.has(kind) && number !== null) return noticeOf({ kind: 'moved', address: number });
  const userId = getText(content, 'user_id');
  return kind === 'user_changed_user_id' && isUserId(userId) ? noticeOf({ kind: 'moved', address: userId }) : NOTHING;
}

/** The second one is the name in versions of the Graph API before 2023. */
const NUMBER_CHANGES: ReadonlySet<string> = new Set(['user_changed_number', 'customer_changed_number']);

/** Returns the user id that a person had before it changed; '' for any other item. */
const formerAddressIn = (item: unknown): string => {
  const system = getText(item, 'type') === 'system' ? getMember(item, 'system') : null;
  return getText(system, 'type') === 'user_changed_user_id' ? getText(system, 'previous_user_id') : '';
};

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

/** Makes the member of a content, or nothing if there is none. */
const contentOf = <Name extends keyof InboundContent>(name: Name, value: InboundContent[Name] | null) =>
  value === null ? {} : { content: { [name]: value } };

function quoted(json: unknown, name: string): QuotedMessage | null {
  const networkId = getText(json, name);
  return networkId === '' ? null : { networkId, messageId: null };
}

/** Reads what surrounds a message of any type: the one that it replies to, a forward, an advertisement. */
function readContext(item: unknown): InboundContent {
  const context = getMember(item, 'context');
  const product = getMember(context, 'referred_product');
  const replyTo = quoted(context, 'id');
  const isForwarded = [getMember(context, 'forwarded'), getMember(context, 'frequently_forwarded')].includes(true);
  const referral = getMember(item, 'referral');
  return {
    ...(replyTo && { replyTo }),
    ...(isForwarded && { forwarded: true }),
    ...(isRecord(product) && {
      product: { catalogId: getText(product, 'catalog_id'), productId: getText(product, 'product_retailer_id') },
    }),
    ...(isRecord(referral) && { referral: readReferral(referral) }),
  };
}

/** Reads an advertisement or a post (the same page, text messages). */
const readReferral = (referral: unknown): Referral => ({
  sourceType: getText(referral, 'source_type'),
  sourceId: getText(referral, 'source_id'),
  sourceUrl: getText(referral, 'source_url'),
  headline: getText(referral, 'headline'),
  body: getText(referral, 'body'),
  mediaType: getText(referral, 'media_type'),
  mediaUrl: getText(referral, 'image_url') || getText(referral, 'video_url'),
  thumbnailUrl: getText(referral, 'thumbnail_url'),
  ctwaClid: getText(referral, 'ctwa_clid'),
});

function readLocation(location: unknown): SharedLocation | null {
  const [latitude, longitude] = [getMember(location, 'latitude'), getMember(location, 'longitude')];
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return null;
  const [name, address, url] = [getText(location, 'name'), getText(location, 'address'), getText(location, 'url')];
  return { latitude, longitude, name, address, url };
}

function locationText(location: unknown): string {
  const place = readLocation(location);
  const degrees = place ? `${place.latitude}, ${place.longitude}` : '';
  return joinParts([getText(location, 'name'), getText(location, 'address'), degrees]);
}

function readContacts(cards: readonly unknown[]): Read {
  const contacts = cards.map(readCard);
  const text = contacts.map(({ name, phones }) => joinParts([name, ...phones.map(({ phone }) => phone)])).join('\n');
  return { type: 'CONTACTS', text, content: { contacts } };
}

const readCard = (card: unknown): SharedContact => ({
  name: getText(getMember(card, 'name'), 'formatted_name'),
  organization: getText(getMember(card, 'org'), 'company'),
  phones: getList(card, 'phones').map((one) => ({
    phone: getText(one, 'phone'),
    type: getText(one, 'type'),
    whatsapp: getText(one, 'wa_id'),
  })),
  emails: getList(card, 'emails').map((one) => getText(one, 'email')),
});

const readButton = (text: string, payload: string): Read => ({
  type: 'BUTTON',
  text: text || payload,
  content: { button: { text, payload } },
});

/** Reads a pressed button, a chosen row of a list, or the fields of a flow. */
function readReply(content: unknown): Read {
  const kind = getText(content, 'type');
  const reply = getMember(content, kind);
  const [id, title, description] = [getText(reply, 'id'), getText(reply, 'title'), getText(reply, 'description')];
  if (kind === 'button_reply') return readButton(title, id);
  if (kind === 'list_reply') return { type: 'BUTTON', text: title, content: { list: { id, title, description } } };
  const json = getText(reply, 'response_json');
  const response = toStorable(parseJson(json));
  const text = title || joinParts([getText(reply, 'body'), json]);
  return {
    type: 'BUTTON',
    text,
    ...contentOf('flow', isRecord(response) ? { name: getText(reply, 'name'), response } : null),
  };
}

/** Forms are flat; what is nested deeper than this is dropped. */
const MAX_DEPTH = 10;

/** Copies a parsed JSON without what PostgreSQL cannot store. */
function toStorable(json: unknown, depth = 0): unknown {
  if (typeof json === 'string') return json.replaceAll('\0', '').toWellFormed();
  if (typeof json !== 'object' || json === null) return json;
  if (depth === MAX_DEPTH) return null;
  if (Array.isArray(json)) return json.map((one) => toStorable(one, depth + 1));
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [toStorable(name), toStorable(value, depth + 1)]),
  );
}

/** Reads the readable text of a message type that the network does not pass on. */
function otherText(type: string, item: unknown): string {
  const [error] = getList(item, 'errors');
  return getText(getMember(item, type), 'body') || getText(error, 'title');
}

function readOrder(json: unknown): Read {
  const items = getList(json, 'product_items').map((product) => ({
    productId: getText(product, 'product_retailer_id'),
    quantity: numberOf(product, 'quantity') ?? 1,
    itemPrice: numberOf(product, 'item_price') ?? 0,
    currency: getText(product, 'currency'),
  }));
  const order = { catalogId: getText(json, 'catalog_id'), text: getText(json, 'text'), items };
  const lines = items.map(({ quantity, productId }) => `${quantity} × ${productId}`);
  return { type: 'OTHER', text: joinParts([order.text, ...lines]), content: { order } };
}

/** Reads a number, which some versions of the API write as a text. */
function numberOf(json: unknown, name: string): number | null {
  const value = Number(getMember(json, name) ?? Number.NaN);
  return Number.isFinite(value) ? value : null;
}

const joinParts = (parts: readonly string[]): string => parts.filter((part) => part !== '').join(', ');

/** The year 2200, far below the latest instant that PostgreSQL and JavaScript both support. */
const LATEST_SECONDS = 7_258_118_400;

/** Reads a member with seconds since the epoch, as a string of digits; null for anything else. */
export const readEpochSeconds = (item: unknown, name: string): Date | null => dateOf(getText(item, name));

export function dateOf(written: string): Date | null {
  const seconds = /^\d{1,10}$/.test(written) ? Number(written) : Number.NaN;
  return seconds <= LATEST_SECONDS ? new Date(seconds * 1000) : null;
}
