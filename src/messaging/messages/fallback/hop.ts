import type { Content } from '../../../carriers/content.ts';
import type { Channel } from '../../../platform/lib/channel.ts';

/**
 * A message on another channel that is sent when the one before it fails or takes too long. It is stored after its
 * checks.
 */
export type Hop = {
  readonly channel: Channel;
  readonly sender: string;
  readonly body: string;
  readonly content: Content | null;
  /** How much time the message before it has, from when it was made or scheduled. */
  readonly afterSeconds: number;
  /** Names of the failures of the message before it that trigger this one; null: all of them. */
  readonly onStatus: readonly string[] | null;
};
