import type { Content } from '../../../carriers/content.ts';
import type { Channel } from '../../../platform/lib/channel.ts';

/** A message on another channel, tried when the one before it fails or takes too long. Checked, and stored as it is. */
export type Hop = {
  readonly channel: Channel;
  readonly sender: string;
  readonly body: string;
  readonly content: Content | null;
  /** How long the message before it has, from when it was made or was to go out. */
  readonly afterSeconds: number;
  /** Names of the failures of the message before it that lead here; null: all of them. */
  readonly onStatus: readonly string[] | null;
};
