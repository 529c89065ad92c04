/**
 * The result of submitting one message to a carrier. Every submit ends in exactly one of these, even when the
 * connection dies: the type has no "pending" and no "error".
 */
export type Outcome =
  /**
   * The carrier took the message. `carrierIds` holds one id per part, in part order, exactly as the carrier spelled
   * them. `held` is set, to the carrier's own status, when it holds the message back for now; its end is reported like
   * any other.
   */
  | { readonly kind: 'accepted'; readonly carrierIds: readonly string[]; readonly held?: string }
  /**
   * The carrier refused the message permanently. `carrierIds` holds the ids of the parts that it took before it refused
   * one, so that their receipts still find the message. `elsewhere` is true if the reason lies with this carrier or our
   * account there, so that another carrier may take the message; never when this one has taken a part.
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
   * The carrier certainly did not take the message, so sending it again is safe. `counts` is true when the attempt
   * counts towards the limit of attempts: the carrier reported a temporary error of this message. It is false when the
   * link was the reason (throttled, or never written).
   */
  | {
      readonly kind: 'retry';
      readonly afterMs: number;
      readonly counts: boolean;
      readonly code: string;
      readonly text: string;
    }
  /**
   * The message was written and no response came: the carrier may or may not have taken it. It is never resent
   * silently.
   */
  | { readonly kind: 'unknown'; readonly text: string; readonly carrierIds: readonly string[] };
