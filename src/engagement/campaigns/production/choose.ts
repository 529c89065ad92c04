import { countParts } from '../../../carriers/smpp/text.ts';
import { bitOf, type Channel } from '../../../platform/lib/channel.ts';
import type { StoredContent } from '../../../network/templates/content.ts';
import { chainOf, isCombined } from '../mode.ts';
import type { RunningCampaign } from '../run/sql.ts';
import type { Step } from '../run/step.ts';
import { priceOf, type UnitPrice } from '../../../money/pricing/price-list.ts';
import { prefixTable } from '../../../platform/lib/phone/prefix-table.ts';
import { type NetworkOf, NO_NETWORK } from '../../../network/number-lookups/finder.ts';
import { type FindSticky, NO_STICKY } from '../../../network/sender-rules/rules.ts';
import { findStickySenders } from '../../../network/sender-rules/sticky.ts';
import type { Candidate } from './sql.ts';

/** A message that can be created. */
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
  readonly parts: number;
  readonly priceMicros: number;
  readonly refundUndelivered: boolean;
  /** Best first. */
  readonly connectionIds: readonly number[];
  /** Reason for choosing this connection; null if it follows from the prefix or the sender alone. */
  readonly routeReason: string | null;
  /** The reserve of the recipient. */
  readonly reserveMicros: number;
  /** The maximum cost of this message and those on the channels after it. */
  readonly maxMicros: number;
};

/** Reason why a recipient who was included at the confirmation can no longer be sent a message. */
export type Obstacle = 'contact_deleted' | 'opted_out' | 'text_changed' | 'sender_not_allowed' | 'no_route';

/** Data about the numbers of candidates. */
export type Known = { readonly findSticky: FindSticky; readonly networkOf: NetworkOf };

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
  const traffic = { accountId: campaign.accountId, at: null, salt: campaign.id };
  return (candidate, known) => {
    if (candidate.contactDeleted) return 'contact_deleted';
    if (candidate.channels !== 0 && candidate.willingChannels === 0) return 'opted_out';
    let obstacle: Obstacle = 'no_route';
    for (const { channel, bit } of channels) {
      if ((candidate.willingChannels & bit) === 0) continue;
      const choice = choose(candidate, channel, known);
      if (typeof choice !== 'string') return choice;
      obstacle = choice;
    }
    return obstacle;
  };

  function chooseSender(sender: string, destination: string, findSticky: FindSticky) {
    return tables.senderRules.choose({ accountId: campaign.accountId, destination, sender }, findSticky);
  }

  function choose(candidate: Candidate, channel: Channel, { findSticky, networkOf }: Known): Choice | Obstacle {
    const { country, destination, contactId, smsParts, reserveMicros, text } = candidate;
    const isSms = channel === 'SMS';
    const parts = isSms && text ? countParts(text).parts : 1;
    if (isSms && (!text || parts > smsParts)) return 'text_changed';
    const asked = senderOf(campaign, channel);
    const chosen = isSms ? chooseSender(asked, destination, findSticky) : { sender: asked };
    if ('fault' in chosen) return 'sender_not_allowed';
    const { sender } = chosen;
    const way = tables.findRoute(channel, destination, {
      ...traffic,
      sender,
      network: isSms ? networkOf(destination) : null,
      key: destination,
    });
    const { connectionIds, reason: routeReason } = way;
    if (connectionIds.length === 0) return 'no_route';
    const price = findPrice(channel, destination, parts, candidate);
    return {
      country,
      destination,
      contactId,
      channel,
      sender,
      askedSender: sender === asked ? null : asked,
      body: isSms ? (text ?? '') : '',
      content: contentOf(campaign, channel, candidate),
      parts,
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
  if (smsSender === null) return { findSticky: NO_STICKY, networkOf: NO_NETWORK };
  const numbers = candidates.map(({ destination }) => destination);
  const asked = numbers.map((destination) => ({ accountId, destination, sender: smsSender }));
  const findSticky = await findStickySenders(tx, tables.senderRules, asked);
  const { networks } = tables;
  if (!networks.isNeeded()) return { findSticky, networkOf: NO_NETWORK };
  const reached = candidates.filter((one) => !one.contactDeleted && (one.willingChannels & bitOf('SMS')) !== 0);
  const to = reached.map(({ destination }) => destination);
  return { findSticky, networkOf: await networks.find(to, { accountId, wait: false }) };
}

const senderOf = (campaign: RunningCampaign, channel: Channel): string =>
  (channel === 'SMS' ? campaign.smsSender : channel === 'RCS' ? campaign.rcsAgentId : campaign.whatsappPhoneNumberId) ??
  '';

function contentOf(campaign: RunningCampaign, channel: Channel, candidate: Candidate): StoredContent | null {
  if (channel === 'SMS') return null;
  const [template, values] =
    channel === 'RCS'
      ? [campaign.rcsTemplateId, candidate.rcsValues]
      : [campaign.whatsappTemplateId, candidate.whatsappValues];
  const trafficType = channel === 'RCS' ? campaign.rcsTrafficType : null;
  return { template: template ?? '', channel, values: values ?? {}, ...(trafficType !== null && { trafficType }) };
}

type MessagePrice = { readonly priceMicros: number; readonly refundUndelivered: boolean };

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
    const next = later.map((channel) => findPrice(channel, to.destination, channel === 'SMS' ? to.smsParts : 1, to));
    return [message, ...next].reduceRight(
      (rest, { priceMicros, refundUndelivered }) =>
        Math.max(priceMicros, refundUndelivered ? rest : priceMicros + rest),
      0,
    );
  };
}

/** Makes a function that prices messages by the price list that was in force when the campaign was confirmed. */
function createPricing({ prices, sendingMode }: Pick<RunningCampaign, 'prices' | 'sendingMode'>) {
  const rows = prices.map(({ channel, prefix, ...value }) => ({ group: channel, prefix, value }));
  const table = prefixTable<UnitPrice>(rows);
  const combined = isCombined(sendingMode);
  return (channel: Channel, destination: string, parts: number, to: Priced): MessagePrice => {
    const { smsParts, reserveMicros } = to;
    const price = table.find(channel, destination);
    const refundUndelivered = price?.refundUndelivered ?? true;
    // With one channel, the reserve is exactly the price.
    if (!combined) return { refundUndelivered, priceMicros: Math.floor((reserveMicros * parts) / (smsParts || 1)) };
    return { refundUndelivered, priceMicros: Math.min(price ? priceOf(channel, price, parts) : 0, reserveMicros) };
  };
}
