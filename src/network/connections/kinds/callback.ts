import type { IncomingHttpHeaders } from 'node:http';
import type { Inbound, Receipt } from '../../../carriers/events.ts';

/** What a carrier sent to our address. */
export type CallbackRequest = {
  readonly method: 'GET' | 'POST';
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
  /** As it came: signatures are of its octets. */
  readonly body: Uint8Array;
};

/** A template whose status its network has changed. */
export type TemplateChange = {
  /** The network's. */
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
};

/** A person wants no messages of a sender any more, or wants them again. */
export type Subscription = {
  /** The sender, as it is registered. */
  readonly identity: string;
  /** Digits. */
  readonly phoneNumber: string;
  readonly subscribed: boolean;
  readonly at: Date | null;
};

/** What a request turned out to be. */
export type CallbackAnswer =
  /** A handshake that proved who it is: answered with this text. */
  | { readonly kind: 'handshake'; readonly text: string }
  /** A handshake without the right token. */
  | { readonly kind: 'refused' }
  /** Not signed by the carrier. */
  | { readonly kind: 'forged' }
  /** Signed, and not in a form that we know. */
  | { readonly kind: 'malformed' }
  | {
      readonly kind: 'events';
      readonly receipts: readonly Receipt[];
      readonly inbounds: readonly Inbound[];
      readonly subscriptions: readonly Subscription[];
      readonly templates: readonly TemplateChange[];
      /** What was passed over, and why: for the log. */
      readonly notes: readonly string[];
    };

/** Pure. */
export type ReadCallback = (request: CallbackRequest) => CallbackAnswer;
