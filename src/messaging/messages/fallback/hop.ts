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
  /** Time that the message before it has, from when its carrier has taken it. */
  readonly afterSeconds: number;
  /** Longest wait of the message before it until a carrier takes it; null or omitted: as long as it is valid. */
  readonly maxWaitSeconds?: number | null;
  /** Names of the failures of the message before it that trigger this one; null: all of them. */
  readonly onStatus: readonly string[] | null;
};
