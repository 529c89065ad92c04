/**
 * What became of one message that was given to a carrier. Every submit ends in exactly one of these,
 * also when the connection dies: the type has no "pending" and no "error".
 */
export type Outcome =
  /**
   * The carrier took it. One id a part, in part order, exactly as the carrier spelled them. `held`: it holds the message
   * back for now, and why in its own word; what comes of it is told like any other end.
   */
  | { readonly kind: 'accepted'; readonly carrierIds: readonly string[]; readonly held?: string }
  /**
   * The carrier refused it for good. `carrierIds` holds the parts that it had taken before it refused one,
   * so that their receipts still find the message. `elsewhere` when the reason lies with this carrier or our account
   * there, so that another may take the message; never when it has taken a part.
   */
  | {
      readonly kind: 'refused';
      readonly status:
        | 'REJECTED'
        | 'UNDELIVERABLE'
        | 'EXPIRED'
        | 'ERROR'
        | 'DISABLED'
        | 'UNSUPPORTED'
        | 'CONVERSATION_CLOSED';
      readonly elsewhere?: boolean;
      readonly code: string;
      readonly text: string;
      readonly carrierIds: readonly string[];
    }
  /**
   * Known not to have been taken: may be sent again without a doubt. `counts` when the carrier said it of this message
   * (a temporary error), so that it cannot be tried for ever; not when the link was the reason (throttled, never written).
   */
  | {
      readonly kind: 'retry';
      readonly afterMs: number;
      readonly counts: boolean;
      readonly code: string;
      readonly text: string;
    }
  /** Written, and no answer came: the carrier may have it or not. Never sent again silently. */
  | { readonly kind: 'unknown'; readonly text: string; readonly carrierIds: readonly string[] };
