import { bitOf, CHANNEL, type Channel, chargedUnits, isRich, isRoutedBySender } from '../core/channels.ts';
import { purposeOfCampaign } from '../messages/billing.ts';
import { findErased } from '../messages/erased.ts';
import { asksOptOut, OPT_OUT_MARK } from '../messages/opt-out-links.ts';
import { octetsOf } from '../messages/read-send.ts';
import { maySmart, smartText } from '../messages/smart-encoding.ts';
import { type MessagePrice as ListPrice, maxChainCost, pricing } from '../money/pricing.ts';
import { faultOf } from '../routing/choice.ts';
import { type NetworkOf, NO_NETWORK } from '../routing/number-lookups.ts';
import { type FindSticky, findStickySenders, NO_STICKY } from '../routing/sender-rules.ts';
import { countParts } from '../smpp/text.ts';
import { decodeTlvs, encodeTlvs, type Tlvs } from '../smpp/wire.ts';
import type { StoredContent } from '../templates/content.ts';
import { chainOf, FIELDS_OF, isCombined } from './audience.ts';
import type { Candidate } from './production-store.ts';
import type { RunningCampaign, Step } from './run.ts';

export type Choice = {
  readonly country: string;
  readonly destination: string;
  readonly contactId: number | null;
  readonly channel: Channel;
  readonly sender: string;
  /** The sender of the campaign, if a rule or a pool has replaced it by `sender`. */
  readonly askedSender: string | null;
  readonly body: string;
  readonly content: StoredContent | null;
  /** Optional parameters of SMPP; null for none. */
  readonly tlvs: Uint8Array | null;
  readonly parts: number;
  readonly priceMicros: number;
  readonly refundUndelivered: boolean;
  /** Best first. */
  readonly connectionIds: readonly number[];
  /** Reason for choosing this connection; null if it follows from the prefix or the sender alone. */
  readonly routeReason: string | null;
  readonly reserveMicros: number;
  /** The maximum cost of this message and those on the channels after it. */
  readonly maxMicros: number;
};

/** Reason why a recipient who was included at the confirmation can no longer be sent a message. */
export type Obstacle =
  | 'contact_deleted'
  | 'opted_out'
  | 'text_changed'
  | 'sender_not_allowed'
  | 'no_route'
  | 'no_registered_route'
  | 'no_dlt_template'
  | 'time_passed'
  | 'weekly_cap';

/** Data about the numbers of candidates. */
type Known = {
  readonly findSticky: FindSticky;
  readonly networkOf: NetworkOf;
  readonly erased: ReadonlySet<string>;
};

/** `known` must have been found for the candidate (`findKnownOf`). */
export type Choose = (candidate: Candidate, known: Known) => Choice | Obstacle;

/**
 * Makes a function that finds, for each candidate, the first channel of the mode on which a message can be created now.
 * Its price is that of the price list at the confirmation and never exceeds the recipient's reserve: a text that has
 * become longer because its contact was edited is therefore not sent.
 */
export function createChooser({ campaign, tables }: Pick<Step, 'campaign' | 'tables'>): Choose {
  const channels = chainOf(campaign.sendingMode).map((channel) => ({ channel, bit: bitOf(channel) }));
  const findPrice = createPricing(campaign);
  const findMaxCost = createMaxCost(campaign);
  const purpose = purposeOfCampaign(campaign);
  const isSmart = campaign.encoding === 'smart';
  const isLinked = asksOptOut(campaign.smsBody ?? '');
  const octets = octetsOf(campaign.tlvs);
  const own = octets && decodeTlvs(octets);
  const withOwn = (others: Tlvs | undefined): Uint8Array | null =>
    own || others ? encodeTlvs(new Map([...(others ?? []), ...(own ?? [])])) : null;
  const traffic = { accountId: campaign.accountId, purpose, at: null, salt: campaign.id };
  return (given, known) => {
    if (given.contactDeleted) return 'contact_deleted';
    const candidate = withLinkOf(given);
    const refuses = candidate.channels !== 0 && candidate.willingChannels === 0;
    if (refuses || known.erased.has(candidate.destination)) return 'opted_out';
    let obstacle: Obstacle = 'no_route';
    for (const { channel, bit } of channels) {
      if ((candidate.willingChannels & bit) === 0) continue;
      const choice = choose(candidate, channel, known);
      if (typeof choice !== 'string') return choice;
      obstacle = choice;
    }
    return obstacle;
  };

  /** Puts the recipient's own opt-out link in. Without a PUBLIC_URL, which was there at the confirmation, none. */
  function withLinkOf(candidate: Candidate): Candidate {
    const { text, destination } = candidate;
    if (text === null || !isLinked) return candidate;
    const link = tables.optOutLink?.({ accountId: campaign.accountId, phoneNumber: destination });
    return { ...candidate, text: link === undefined ? null : text.replaceAll(OPT_OUT_MARK, link) };
  }

  function chooseSender(sender: string, destination: string, findSticky: FindSticky) {
    return tables.senderRules.choose({ accountId: campaign.accountId, destination, sender }, findSticky);
  }

  function matchTemplate(sender: string, { destination, text }: Candidate) {
    return tables.dltTemplates.match({ accountId: campaign.accountId, destination, sender, body: text ?? '' });
  }

  /** Returns the body of a message on SMS, and the number of its parts; null if it is longer than was agreed. */
  function bodyOf(
    { text, smsParts, destination }: Candidate,
    channel: Channel,
  ): { body: string; parts: number } | null {
    if (!CHANNEL[channel].parts) return { body: isRich(channel) ? '' : (text ?? ''), parts: 1 };
    const body = text && isSmart && maySmart(destination, campaign.purpose) ? smartText(text).text : text;
    const { parts, alphabet } = body ? countParts(body) : { parts: 0, alphabet: 'gsm7' };
    if (campaign.encoding === 'strict' && alphabet !== 'gsm7') return null;
    return body && parts <= smsParts ? { body, parts } : null;
  }

  function choose(candidate: Candidate, channel: Channel, { findSticky, networkOf }: Known): Choice | Obstacle {
    const { country, destination, contactId, reserveMicros } = candidate;
    const made = bodyOf(candidate, channel);
    if (!made) return 'text_changed';
    const asked = campaign[FIELDS_OF[channel].sender] ?? '';
    const ownSender = isRoutedBySender(channel);
    const chosen = ownSender ? { sender: asked } : chooseSender(asked, destination, findSticky);
    if ('fault' in chosen) return 'sender_not_allowed';
    const { sender } = chosen;
    const way = tables.findRoute(channel, destination, {
      ...traffic,
      sender,
      network: ownSender ? null : networkOf(destination),
      key: destination,
    });
    const { connectionIds, reason: routeReason } = way;
    if (connectionIds.length === 0) return faultOf(way);
    const template = ownSender ? null : matchTemplate(sender, candidate);
    if (template !== null && 'fault' in template) return 'no_dlt_template';
    const price = findPrice(channel, destination, made.parts, candidate);
    return {
      country,
      destination,
      contactId,
      channel,
      sender,
      askedSender: sender === asked ? null : asked,
      ...made,
      content: contentOf(campaign, channel, candidate),
      tlvs: ownSender ? null : withOwn(template?.tlvs),
      ...price,
      connectionIds,
      routeReason,
      reserveMicros,
      maxMicros: findMaxCost(candidate, { ...price, channel }),
    };
  }
}

/**
 * Looks up the candidates who keep the pool number that they know, and the networks of their numbers as far as they are
 * known; the others are looked up in the background, so that a campaign does not wait.
 */
export async function findKnownOf({ tx, campaign, tables }: Step, candidates: readonly Candidate[]): Promise<Known> {
  const { accountId, smsSender } = campaign;
  const numbers = candidates.map(({ destination }) => destination);
  const erased = campaign.hasOptOuts
    ? await findErased(tx, tables.hashOfPerson, { accountId, numbers })
    : new Set<string>();
  if (smsSender === null) return { findSticky: NO_STICKY, networkOf: NO_NETWORK, erased };
  const asked = numbers.map((destination) => ({ accountId, destination, sender: smsSender }));
  const findSticky = await findStickySenders(tx, tables.senderRules, asked);
  const { networks } = tables;
  if (!networks.isNeeded()) return { findSticky, networkOf: NO_NETWORK, erased };
  const reached = candidates.filter((one) => !one.contactDeleted && (one.willingChannels & bitOf('SMS')) !== 0);
  const to = reached.map(({ destination }) => destination);
  return { findSticky, networkOf: await networks.find(to, { accountId, wait: false }), erased };
}

type Content = Pick<RunningCampaign, 'rcsTemplateId' | 'rcsTrafficType' | 'whatsappTemplateId'>;
type Values = Pick<Candidate, 'rcsValues' | 'whatsappValues'>;

/** Makes the content of a message on a channel: the template with the values of the recipient; null for a text. */
export function contentOf(campaign: Content, channel: Channel, recipient: Values): StoredContent | null {
  if (!isRich(channel)) return null;
  const { content, values } = FIELDS_OF[channel];
  const trafficType = channel === 'RCS' ? campaign.rcsTrafficType : null;
  const own = { template: campaign[content] ?? '', channel, values: recipient[values] ?? {} };
  return trafficType === null ? own : { ...own, trafficType };
}

type MessagePrice = Pick<ListPrice, 'priceMicros' | 'refundUndelivered'>;

/** The fields that decide the price of the messages to a recipient. */
type Priced = Pick<Candidate, 'destination' | 'channels' | 'smsParts' | 'reserveMicros'>;

/**
 * Makes a function that returns the maximum cost of a message and those on the channels after it: another channel is
 * tried only after a failure, which returns the price of the message if that is refundable.
 */
export function createMaxCost(campaign: Pick<RunningCampaign, 'prices' | 'sendingMode'>) {
  const chain = chainOf(campaign.sendingMode);
  const findPrice = createPricing(campaign);
  return (to: Priced, message: MessagePrice & { readonly channel: Channel }): number => {
    const later = chain.slice(chain.indexOf(message.channel) + 1).filter((channel) => to.channels & bitOf(channel));
    const next = later.map((channel) => findPrice(channel, to.destination, chargedUnits(channel, to.smsParts), to));
    return maxChainCost([message, ...next]);
  };
}

/** Makes a function that prices messages by the price list that was in force when the campaign was confirmed. */
function createPricing({ prices, sendingMode }: Pick<RunningCampaign, 'prices' | 'sendingMode'>) {
  const findPrice = pricing(prices);
  const combined = isCombined(sendingMode);
  return (channel: Channel, destination: string, parts: number, to: Priced): MessagePrice => {
    const { smsParts, reserveMicros } = to;
    const price = findPrice({ channel, destination, parts });
    const refundUndelivered = price?.refundUndelivered ?? true;
    // With one channel, the reserve is exactly the price.
    if (!combined && price?.perPart === false) return { refundUndelivered, priceMicros: reserveMicros };
    if (!combined) return { refundUndelivered, priceMicros: Math.floor((reserveMicros * parts) / (smsParts || 1)) };
    return { refundUndelivered, priceMicros: Math.min(price?.priceMicros ?? 0, reserveMicros) };
  };
}
