import type { Carrier } from '../../../carriers/carrier.ts';
import type { Channel } from '../../../platform/lib/channel.ts';
import type { FileSource } from './files.ts';
import type { ReadCallback } from './callback.ts';

/**
 * What the program needs to know of one kind of connection. Settings are kept as JSON, the secret is sealed as a text.
 * What reads them throws an Error whose message names the field at fault.
 */
export type Kind = {
  readonly channel: Channel;
  /** Checks settings and fills in the defaults. */
  parseSettings(json: unknown): object;
  /** Checks a secret as it was given, and makes the text of it that is sealed. */
  parseSecret(secret: unknown): string;
  /** Of settings and secret as they are stored. */
  createCarrier(settings: unknown, secret: string): Carrier;
  /** Messages (SMS: parts) a second over all workers; 0 is no limit, or one that the carrier itself holds. */
  tpsOf(settings: unknown): number;
  /** The settings for a try: with one link. */
  forTest(settings: object): object;
  /** Where the carrier is. Of settings as they are stored. */
  addressOf(settings: unknown): { readonly host: string; readonly port: number };
  /** What may be sent at most: messages without an answer at a time, and messages (SMS: parts) a second; 0 is no limit. */
  limitsOf(settings: unknown): { readonly window: number; readonly perSecond: number };
  /** The name of the secret that we choose and the carrier is told, among those of `parseSecret`; null: there is none. */
  readonly ownToken: string | null;
  /** Reads what this carrier posts to us; null when it does not. Of settings and secret as they are stored. */
  readonly createReader: ((settings: unknown, secret: string) => ReadCallback) | null;
  /** Where files of messages that came in are; null when such messages have none. Of settings and secret as stored. */
  readonly createFileSource: ((settings: unknown, secret: string) => FileSource) | null;
};
