import type { Carrier } from '../../../carriers/carrier.ts';
import type { Poller } from '../../../carriers/http-sms/poll.ts';
import type { GraphClient } from '../../../carriers/whatsapp/client.ts';
import type { Channel } from '../../../platform/lib/channel.ts';
import type { Guard } from '../../../platform/outbound/guard.ts';
import type { Callbacks } from './callback.ts';
import type { FileSource } from './files.ts';
import type { Secret } from './secret.ts';
import type { CarrierSetup } from './setup.ts';
import type { SettingField } from './setting-fields.ts';

/**
 * All that differs between the kinds of connections. Settings are stored as JSON, the secret is sealed as a text;
 * functions that read them throw an Error whose message names the invalid fields.
 */
export type Kind = {
  /** The short name that people read: "SMPP". */
  readonly title: string;
  /** Description of the other end with its article: "an SMPP 3.4 carrier". */
  readonly leadsTo: string;
  readonly channel: Channel;
  /** The settings, in the order in which forms and the command line offer them. */
  readonly settings: readonly SettingField[];
  readonly secret: Secret;
  /**
   * Throws an Error that names the field of the secret which these valid settings need and this secret lacks; null:
   * none.
   */
  readonly checkSecret: ((settings: object, secret: string) => void) | null;
  /** True if its carriers are only dialled at addresses that webhooks may be posted to. */
  readonly isGuarded: boolean;
  /** Validates settings and fills in the defaults. */
  parseSettings(json: unknown): object;
  /** Creates the carrier of a stored connection. */
  createCarrier(settings: unknown, secret: string, context: CarrierContext): Carrier;
  /**
   * Returns the messages (SMS: parts) per second over all workers; 0 where there is no limit or the carrier enforces
   * it.
   */
  tpsOf(settings: unknown): number;
  /** Returns the settings for a test: with a single link. */
  forTest(settings: object): object;
  /** Returns the address at which the carrier listens, from stored settings. */
  addressOf(settings: unknown): { readonly host: string; readonly port: number };
  /** Returns the maximum of unanswered messages, and of messages (SMS: parts) per second; 0 where there is no limit. */
  limitsOf(settings: unknown): { readonly window: number; readonly perSecond: number };
  /**
   * Returns the ids of the senders that stored settings name; empty where they are only named when they are assigned.
   */
  senderIdsOf(settings: unknown): readonly string[];
  /**
   * Makes one request that sends nothing, and shows it with the response, secrets hidden; null where there is nothing
   * to show. Never rejects.
   */
  readonly showExchange: ((settings: unknown, secret: string, context: CarrierContext) => Promise<Exchange>) | null;
  /** Further set-up needed at the carrier; null if none. */
  readonly setup: CarrierSetup | null;
  /** Callbacks from the carrier; null if it posts none. */
  readonly callbacks: Callbacks | null;
  /**
   * Returns true if these settings poll for events; cheap, because all connections are asked every few seconds. Missing
   * where all carriers call.
   */
  readonly polls?: (settings: unknown) => boolean;
  /**
   * Opens the poller that fetches events from a carrier that does not call; missing where all call, null for settings
   * that do not poll.
   */
  readonly createPoller?: (settings: unknown, secret: string, context: CarrierContext) => Poller | null;
  /** Opens the source of files in inbound messages, from stored settings and secret; null when there are none. */
  readonly createFileSource: ((settings: unknown, secret: string) => FileSource) | null;
  /**
   * Opens the API that lists, creates and changes the carrier's message templates, from stored settings and secret;
   * null when the carrier has no templates. Templates of connections that have it are synced.
   */
  readonly createTemplateClient: ((settings: unknown, secret: string, timeoutSeconds: number) => GraphClient) | null;
};

/** A request as it would send a message, and the carrier's response to one that sends nothing. */
export type Exchange = { readonly request: string; readonly answer: string };

/** Context of a carrier within the program, besides its settings. */
export type CarrierContext = {
  /** The URL that the carrier calls; null when its kind has no callbacks. */
  readonly callbackUrl: string | null;
  /** Decides which addresses may be dialled by kinds whose carriers may be at any address (`isGuarded`). */
  readonly guard: Guard;
};

/** Ways to find the connection of a message: by the prefix of its destination (routes), or by its sender. */
export const ROUTED_BY = { SMS: 'prefix', RCS: 'sender', WHATSAPP: 'sender' } as const satisfies Readonly<
  Record<Channel, 'prefix' | 'sender'>
>;

/** A channel whose messages find their connection by their sender, which the network knows by an id. */
export type SenderChannel = { [C in Channel]: (typeof ROUTED_BY)[C] extends 'sender' ? C : never }[Channel];

/** Returns true if messages of this channel find their connection by their sender. */
export const isRoutedBySender = (channel: Channel): channel is SenderChannel => ROUTED_BY[channel] === 'sender';
