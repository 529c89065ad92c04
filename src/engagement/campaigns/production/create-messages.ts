import type { Queued } from '../../../messaging/messages/new/announce.ts';
import { type NewMessage, insertMessages, newMessage } from '../../../messaging/messages/new/sql.ts';
import { recordLastContacts } from '../../contacts/record-activity.ts';
import { insertChunks } from '../../../network/dispatch/sql.ts';
import { bitOf, type Channel } from '../../../platform/lib/channel.ts';
import { newId } from '../../../platform/lib/ids.ts';
import { chainOf, isCombined } from '../mode.ts';
import type { RunningCampaign } from '../run/sql.ts';
import type { Step } from '../run/step.ts';
import { timesOf } from '../times.ts';
import type { Choice } from './choose.ts';
import { insertBatches, type NewBatch } from './sql.ts';
import { SECOND_MS } from '../../../platform/lib/time.ts';

/** Messages per batch, and per chunk of the queue. */
const MESSAGES_PER_BATCH = 1000;
/** Few enough that encoding them yields the event loop to single sends after a millisecond. */
const MESSAGES_PER_STATEMENT = 500;
/** The priority in the queue: after single sends and bulk requests. */
const CAMPAIGN_PRIORITY = 2;

/** A choice that has become a message. */
export type CreatedMessage = Choice & { readonly id: string };

/**
 * Creates the messages of a hop (0: the first channel): their rows, their queue entries, and the batches by which they
 * are found. Everything is written in the step's transaction. Returns the messages in the order of `choices`, which is
 * also the order of their ids.
 */
export async function createMessages(step: Step, hop: number, choices: readonly Choice[]): Promise<CreatedMessage[]> {
  if (choices.length === 0) return [];
  const { tx, job, campaign } = step;
  const ids = choices.map(newId).sort();
  const made = choices.map((choice, i) => ({ ...choice, id: ids[i] ?? '' }));
  const messages = made.map((choice) => toNewMessage(campaign, choice));
  const queued = toQueued(campaign, made, messages);
  step.queued.push(...queued);
  // Each waits for the one before: encoding all of them at once would hold the event loop.
  for (const slice of slices(messages, MESSAGES_PER_STATEMENT)) await insertMessages(tx, slice);
  await Promise.all([
    insertChunks(
      tx,
      queued.map(({ chunk }) => chunk),
    ),
    insertBatches(tx, job, toBatches(campaign, hop, made)),
    recordLastContacts(
      tx,
      made.flatMap((choice) => toLastContact(campaign, choice)),
    ),
  ]);
  return made;
}

function slices<T>(items: readonly T[], size = MESSAGES_PER_BATCH): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

const toNewMessage = (campaign: RunningCampaign, made: CreatedMessage): NewMessage =>
  newMessage({
    accountId: campaign.accountId,
    id: made.id,
    channel: made.channel,
    source: 'CAMPAIGN',
    connectionId: made.connectionIds[0] ?? null,
    routeReason: made.routeReason,
    sender: made.sender,
    askedSender: made.askedSender,
    destination: made.destination,
    body: made.body,
    content: made.content,
    parts: made.parts,
    priceMicros: made.priceMicros,
    refundUndelivered: made.refundUndelivered,
    apiKeyId: campaign.apiKeyId,
    userId: campaign.apiKeyId === null ? campaign.userId : null,
    campaignId: campaign.id,
    keepsReserve: isCombined(campaign.sendingMode),
  });

/** Puts messages into chunks, each of which has one route. */
function toQueued(
  { accountId, id }: RunningCampaign,
  made: readonly CreatedMessage[],
  messages: readonly NewMessage[],
): Queued[] {
  const byRoute = Map.groupBy(messages, (_, i) => made[i]?.connectionIds.join() ?? '');
  return [...byRoute].flatMap(([route, own]) => {
    const [connectionId = 0, ...alternates] = route.split(',').map(Number);
    return slices(own).map((slice) => ({
      chunk: {
        accountId,
        connectionId,
        alternates,
        priority: CAMPAIGN_PRIORITY,
        availableAt: null,
        campaignId: id,
        ids: slice.map((message) => message.id),
      },
      messages: slice,
    }));
  });
}

function toBatches(campaign: RunningCampaign, hop: number, made: readonly CreatedMessage[]): NewBatch[] {
  const alike = Map.groupBy(made, ({ country, channel }) => `${channel}/${country}`);
  return [...alike.values()].flatMap((own) => slices(own).map((slice) => toBatch(campaign, hop, slice)));
}

function toBatch(campaign: RunningCampaign, hop: number, slice: readonly CreatedMessage[]): NewBatch {
  const [{ channel, country }] = slice as [CreatedMessage];
  const destinations = slice.map((message) => message.destination).sort();
  return {
    hop,
    channel: bitOf(channel),
    country,
    firstDestination: destinations[0] ?? '',
    lastDestination: destinations.at(-1) ?? '',
    messageIds: slice.map((message) => message.id),
    dueAt: fallbackDueAt(campaign, channel),
  };
}

/**
 * Returns the earliest instant at which recipients may have to be tried on the next channel, even if a carrier takes
 * their messages immediately; null after the last channel.
 */
function fallbackDueAt({ sendingMode, fallback, now }: RunningCampaign, channel: Channel): Date | null {
  if (chainOf(sendingMode).at(-1) === channel) return null;
  const { afterSeconds, maxWaitSeconds } = timesOf(fallback, channel);
  return new Date(now.getTime() + Math.min(afterSeconds, maxWaitSeconds) * SECOND_MS);
}

const toLastContact = ({ accountId, now, sendingMode }: RunningCampaign, { contactId, channel }: CreatedMessage) =>
  contactId === null ? [] : [{ accountId, contactId, channel, at: now, campaignType: sendingMode }];
