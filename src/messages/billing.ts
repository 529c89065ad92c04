import type { TrafficType } from '../channels/carrier.ts';
import type { Channel, Purpose, RichChannel } from '../core/channels.ts';
import { as, columns, type Db, many, type RowOf, sql, textArray } from '../core/db/query.ts';
import { callingCodeOf, DEFAULT_NUMBER_RULES, type NumberRules, numberForPrefix, personOf } from '../core/phone.ts';
import { takeAllowance } from '../money/free-allowance.ts';
import { listPricesOf, PRICE_CATEGORIES, type PriceCategory, type PriceWindow } from '../money/prices.ts';
import {
  type FindPrice,
  type ListedPrice,
  type MessagePrice,
  narrowPrices,
  type PriceQuery,
} from '../money/pricing.ts';
import { findUsableSender, type UsableSender } from '../routing/senders.ts';
import { isTemplateContent, placeholdersOf, type StoredContent } from '../templates/content.ts';
import { findUsableTemplate, type Template } from '../templates/store.ts';
import { readDestination } from './consent.ts';
import type { NewMessage } from './new-messages.ts';

type Json = Readonly<Record<string, unknown>>;

/** The template of a message, as far as it decides in which category the network bills it. */
export type BilledTemplate = {
  /** The category of the template in lower case; on WhatsApp only. */
  readonly category: string;
  /** The calling code of the number that sends on WhatsApp; null if it is not known. */
  readonly callingCode: string | null;
  /** The message of a template of RCS, with its placeholders; null on WhatsApp. */
  readonly message: Json | null;
  readonly hasPlaceholders: boolean;
};

const PURPOSE_OF_CATEGORY: Readonly<Record<string, Purpose>> = {
  marketing: 'marketing',
  utility: 'transactional',
  authentication: 'otp',
};
const PURPOSE_OF_TRAFFIC: Readonly<Record<TrafficType, Purpose>> = {
  AUTHENTICATION: 'otp',
  TRANSACTION: 'transactional',
  PROMOTION: 'marketing',
  SERVICEREQUEST: 'service',
  ACKNOWLEDGEMENT: 'service',
};

/** Returns the purpose of a category of WhatsApp templates, in lower case; null if there is none. */
const purposeOfCategory = (category: string | null | undefined): Purpose | null =>
  PURPOSE_OF_CATEGORY[category ?? ''] ?? null;

const purposeOfTraffic = (trafficType: TrafficType | null | undefined): Purpose | null =>
  trafficType ? PURPOSE_OF_TRAFFIC[trafficType] : null;

/** What may state the purpose of the messages of a campaign, in this order. */
export type PurposeSources = {
  readonly purpose: Purpose | null;
  /** The category of its WhatsApp template in lower case; null: it has none. */
  readonly whatsappCategory: string | null;
  /** The traffic type on RCS: its own, or that of its template. */
  readonly trafficType: TrafficType | null;
  readonly accountPurpose: Purpose | null;
};

/** Returns the purpose of the messages of a campaign, on all its channels; null: none is stated. */
export const purposeOfCampaign = ({
  purpose,
  whatsappCategory,
  trafficType,
  accountPurpose,
}: PurposeSources): Purpose | null =>
  purpose ?? purposeOfCategory(whatsappCategory) ?? purposeOfTraffic(trafficType) ?? accountPurpose;

/** Returns the purpose that the network takes a message for; null if its content does not tell. */
export function purposeOfContent(
  content: StoredContent | null | undefined,
  template: BilledTemplate | null | undefined,
): Purpose | null {
  if (!content) return null;
  if (content.channel === 'RCS') return purposeOfTraffic(content.trafficType);
  if ('marketing' in content) return 'marketing';
  return purposeOfCategory(template?.category);
}

/** A message and its content, as far as they decide its category. */
type Billed = {
  readonly content: StoredContent | null;
  readonly template: BilledTemplate | null;
};

const NONE: readonly never[] = [];

/** Returns everything about a message on which its price depends. */
export function billingOf(
  {
    content,
    scheduledAt,
    channel,
    destination,
    parts,
    accountId,
  }: Pick<NewMessage, 'content' | 'scheduledAt' | 'channel' | 'destination' | 'parts' | 'accountId'>,
  template: BilledTemplate | null,
  windows: readonly PriceWindow[] = NONE,
): PriceQuery {
  // SMS has no categories, and bulk comes here a hundred thousand times.
  if (channel === 'SMS') return { channel, destination, accountId, parts, categories: NONE, windows, at: scheduledAt };
  const billed = { content, template };
  const categories = categoriesOf(channel, billed, destination);
  return {
    channel,
    destination,
    accountId,
    parts: unitsOf(channel, billed, parts),
    categories,
    windows,
    at: scheduledAt,
  };
}

/**
 * Lists the categories in which a network may bill a message, the first one preferred. On RCS, the standard and the US
 * model each have a category for it: an operator sets prices of one of them for the numbers of a country. On WhatsApp,
 * Meta bills authentication at its international rate in some countries if the business is in another one; which ones,
 * the price list says (developers.facebook.com/docs/whatsapp/pricing/authentication-international-rates).
 */
function categoriesOf(channel: Channel, billed: Billed, destination: string): readonly PriceCategory[] {
  if (channel === 'SMS') return NONE;
  if (channel === 'RCS') return RCS_FORMS[formOf(billed)];
  const { template } = billed;
  if (!template) return ['service'];
  const category = PRICE_CATEGORIES.WHATSAPP.find((one) => one === template.category);
  if (category === undefined) return [];
  return category === 'authentication' && isAbroad(template, destination)
    ? ['authentication-international', category]
    : [category];
}

const isAbroad = ({ callingCode }: BilledTemplate, destination: string): boolean =>
  callingCode !== null && !numberForPrefix(destination).startsWith(`+${callingCode}`);

/** The bytes of a text in UTF-8 that RCS bills as one. */
const SEGMENT_BYTES = 160;

/**
 * The forms of content that RCS bills differently, with their categories of the standard and of the US model
 * (developers.google.com/business-communications/rcs-business-messaging/carriers/billing). A text in which placeholders
 * are filled in counts as a long one: for the messages of a campaign the price is fixed before they are.
 */
const RCS_FORMS = {
  text: ['basic', 'rich'],
  longText: ['single', 'rich'],
  media: ['single', 'rich-media'],
} as const satisfies Readonly<Record<string, readonly PriceCategory[]>>;

function formOf(billed: Billed): keyof typeof RCS_FORMS {
  const { text, suggestions = [] } = messageOf(billed);
  if (typeof text !== 'string') return 'media';
  const all: readonly unknown[] = Array.isArray(suggestions) ? suggestions : [];
  if (!all.every(isPlain)) return 'media';
  const isShort = unitsOf('RCS', billed, 1) === 1 && !billed.template?.hasPlaceholders;
  return isShort && all.length === 0 ? 'text' : 'longText';
}

const messageOf = ({ content, template }: Billed): Json =>
  (content && !isTemplateContent(content) ? content.message : template?.message) ?? {};

/** True for a suggested reply, and for an action that dials a number or opens a page in the browser. */
function isPlain(suggestion: unknown): boolean {
  const { reply, action } = (suggestion ?? {}) as { reply?: unknown; action?: Json };
  const { dialAction, openUrlAction } = action ?? {};
  const { application } = (openUrlAction ?? {}) as { application?: unknown };
  return reply !== undefined || dialAction !== undefined || (!!openUrlAction && application !== 'WEBVIEW');
}

/** Returns the parts of an SMS, or the segments of a text on RCS; 1 for all else. */
function unitsOf(channel: Channel, billed: Billed, parts: number): number {
  const { text } = channel === 'RCS' ? messageOf(billed) : {};
  return typeof text === 'string' ? Math.max(1, Math.ceil(Buffer.byteLength(text) / SEGMENT_BYTES)) : parts;
}

/** Returns a template as far as it decides the category of its messages. `sender` is the one that sends them. */
export function billedTemplate(template: Template, sender: UsableSender | undefined): BilledTemplate {
  const isRcs = template.channel === 'RCS';
  return {
    category: template.category.toLowerCase(),
    callingCode: callingCodeOf((sender?.displayNumber ?? '').replaceAll(/\D/g, '')),
    message: isRcs ? (template.content as Json) : null,
    hasPlaceholders: isRcs && placeholdersOf(template).length > 0,
  };
}

/** Messages that are sent to many people from one template on each channel. */
type SentToMany = {
  readonly accountId: number;
  readonly rcsTemplateId: string | null;
  readonly whatsappTemplateId: string | null;
  readonly whatsappPhoneNumberId: string | null;
};

/** The templates of messages to many people; null on channels without one. */
export type BilledTemplates = Readonly<Record<Channel, BilledTemplate | null>>;

/** Finds the templates of messages to many people, by channel; null where there is none. */
export async function findBilledTemplates(
  db: Db,
  { accountId, rcsTemplateId, whatsappTemplateId, whatsappPhoneNumberId: identity }: SentToMany,
): Promise<BilledTemplates> {
  const find = async (channel: RichChannel, id: string | null, sender: UsableSender | undefined) => {
    const template = id === null ? undefined : await findUsableTemplate(db, { accountId, channel, id });
    return template ? billedTemplate(template, sender) : null;
  };
  const number = identity ? await findUsableSender(db, { accountId, channel: 'WHATSAPP', identity }) : undefined;
  return {
    SMS: null,
    RCS: await find('RCS', rcsTemplateId, undefined),
    WHATSAPP: await find('WHATSAPP', whatsappTemplateId, number),
  };
}

/**
 * Lists the prices of messages to many people at a time: the longest prefix alone decides among them. No window is
 * assumed to be open, since who writes before the message is sent is not known.
 */
export async function listPricesToMany(
  db: Db,
  { at, ...sent }: SentToMany & { readonly at: Date | null },
): Promise<ListedPrice[]> {
  const { accountId } = sent;
  const templates = await findBilledTemplates(db, sent);
  const billed = (channel: Channel): Billed => ({ content: null, template: templates[channel] });
  const { callingCode = null } = templates.WHATSAPP ?? {};
  return narrowPrices(await listPricesOf(db, { accountId }), {
    accountId,
    at,
    prefixes: callingCode === null ? [] : [callingCode],
    categoriesOf: (channel, destination) => categoriesOf(channel, billed(channel), destination),
    unitsOf: (channel) => unitsOf(channel, billed(channel), 1),
  });
}

/** Returns the windows that are open for a message when it is sent, the first one preferred. */
export type WindowsOf = (
  message: Pick<NewMessage, 'channel' | 'sender' | 'destination' | 'scheduledAt'>,
) => readonly PriceWindow[];

export const NO_WINDOWS: WindowsOf = () => [];

type WindowDeps = { readonly pool: Db; readonly tables: { readonly dependsOnWindow?: () => boolean } };

/** Looks up the windows of the recipients of drafts. While no price depends on a window, nothing is read. */
export async function findWindows(
  { pool, tables }: WindowDeps,
  { accountId, numberRules = DEFAULT_NUMBER_RULES }: { accountId: number; numberRules?: NumberRules },
  drafts: readonly { readonly channel: Channel; readonly destination: string; readonly isKnownNumber?: boolean }[],
): Promise<WindowsOf> {
  if (tables.dependsOnWindow?.() !== true) return NO_WINDOWS;
  const persons = drafts.flatMap((draft) => {
    const read = draft.channel === 'WHATSAPP' ? readDestination(draft, numberRules) : { fault: null };
    return 'e164' in read ? [personOf(read.e164)] : [];
  });
  if (persons.length === 0) return NO_WINDOWS;
  const rows = await listWindows(pool, { accountId, persons: [...new Set(persons)] });
  const known = new Map(rows.map((row) => [row.person, row]));
  return ({ channel, sender, destination, scheduledAt }) => {
    const row = channel === 'WHATSAPP' ? known.get(personOf(destination)) : undefined;
    if (row?.identity !== sender) return [];
    const at = scheduledAt ?? new Date();
    return [
      ...(row.freeEntryUntil !== null && row.freeEntryUntil > at ? (['FREE_ENTRY'] as const) : []),
      ...(row.windowExpiresAt !== null && row.windowExpiresAt > at ? (['IN_WINDOW'] as const) : []),
    ];
  };
}

/**
 * The end of the window without charges after an advertisement: an answer within 24 hours opens it, for 72 hours
 * (learn.doubletick.io and support.myoperator.com agree with Meta's page, which was not to be had). Only answers in the
 * inbox are known here; after others, messages have their usual price once the 24 hours are over.
 */
const FREE_ENTRY_UNTIL = `CASE WHEN c.free_entry_until IS NOT NULL THEN coalesce(
  (SELECT min(m.at) + interval '72 hours' FROM inbox_message m
   WHERE m.account_id = c.account_id AND m.chat_id = c.chat_id AND m.direction = 'OUTBOUND'
     AND m.at BETWEEN c.free_entry_until - interval '24 hours' AND c.free_entry_until),
  c.free_entry_until) END`;

const WINDOW = columns({
  /** The person as asked for, which may be an alias. */
  person: as<string>('asked'),
  identity: as<string>('identity'),
  windowExpiresAt: as<Date | null>('window_expires_at'),
  freeEntryUntil: as<Date | null>(FREE_ENTRY_UNTIL),
});

const listWindows = (
  db: Db,
  { accountId, persons }: { accountId: number; persons: readonly string[] },
): Promise<RowOf<typeof WINDOW>[]> =>
  many(
    db,
    sql`SELECT ${WINDOW} FROM unnest(${textArray(persons)}::text[]) AS asked
        LEFT JOIN person_alias a ON a.account_id = ${accountId} AND a.alias = asked
        JOIN conversation c ON c.account_id = ${accountId} AND c.channel = 'WHATSAPP'
          AND c.person = coalesce(a.person, asked)`,
  );

/** The price of a message within the free allowance of its sender, where that makes a difference. */
export type FreePrice = {
  readonly price: MessagePrice;
  /** Messages of each number in a month. */
  readonly perNumber: number;
};

/** Returns the price of a service message on WhatsApp within the free allowance; null for any other message. */
export const freePriceOf = (findPrice: FindPrice, query: PriceQuery): MessagePrice | null =>
  query.channel === 'WHATSAPP' && query.categories?.[0] === 'service'
    ? findPrice({ ...query, windows: ['FREE', ...(query.windows ?? [])] })
    : null;

type Priced = { readonly free?: FreePrice; readonly message: NewMessage };

/** Gives messages within the free allowance of their senders the price for that, in the transaction that stores them. */
export async function withFreePrices<P extends Priced>(tx: Db, items: readonly P[]): Promise<readonly P[]> {
  const [first] = items.flatMap(({ free }) => free ?? []);
  if (!first) return items;
  const wanted = items.flatMap(({ free, message }) => (free ? [message] : []));
  const granted = await takeAllowance(tx, wanted, first);
  return items.map(({ free, ...item }) => {
    if (!free || !granted.has(item.message.id)) return item as unknown as P;
    const { priceMicros, refundUndelivered, category: priceCategory } = free.price;
    return { ...item, message: { ...item.message, priceMicros, refundUndelivered, priceCategory } } as unknown as P;
  });
}
