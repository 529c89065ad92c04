import type { IncomingHttpHeaders } from 'node:http';
import type { Inbound, Notice, Receipt } from '../../../carriers/events.ts';

/** A request that a carrier sent to our callback URL. */
export type CallbackRequest = {
  readonly method: 'GET' | 'POST';
  /** The URL as the carrier called it, with its query. */
  readonly url: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: IncomingHttpHeaders;
  /** The body as received: signatures cover its bytes. */
  readonly body: Uint8Array;
};

/** A template whose status or quality the network has changed. */
export type TemplateChange = {
  /** The network's id of the template. */
  readonly id: string;
  /** Null: unchanged, and so is its reason. */
  readonly status: string | null;
  readonly reason: string | null;
  /** Null: unchanged. */
  readonly quality: string | null;
};

/** A person has unsubscribed from a sender, or subscribed again. */
export type Subscription = {
  /** The sender, as it is registered. */
  readonly identity: string;
  /** Digits only. */
  readonly phoneNumber: string;
  readonly subscribed: boolean;
  readonly at: Date | null;
};

/** Content of a callback request. */
export type CallbackAnswer =
  /** A verification request with the right token, to be answered with this text. */
  | { readonly kind: 'handshake'; readonly text: string }
  /** A verification request without the right token. */
  | { readonly kind: 'refused' }
  /** A request that the carrier did not sign. */
  | { readonly kind: 'forged' }
  /** A signed request in an unknown form. */
  | { readonly kind: 'malformed' }
  | {
      readonly kind: 'events';
      readonly receipts: readonly Receipt[];
      readonly inbounds: readonly Inbound[];
      readonly subscriptions: readonly Subscription[];
      readonly templates: readonly TemplateChange[];
      /** Notices for the operator. */
      readonly notices: readonly Notice[];
      /** Ignored parts with the reason, for the log. */
      readonly notes: readonly string[];
    };

/** Reads a callback request. Pure: it stores nothing. */
export type ReadCallback = (request: CallbackRequest) => CallbackAnswer;

/** The requests that a carrier sends to our callback URL, `/api/callbacks/<kind>/<name of the connection>`. */
export type Callbacks = {
  /**
   * The OpenAPI text of the GET request that verifies the URL, or reports like a POST; null when the carrier only
   * posts.
   */
  readonly verification: { readonly summary: string; readonly description: string } | null;
  /** The header with the signature of a posted body, in lower case; null where it depends on the settings. */
  readonly signatureHeader: string | null;
  /** Maximum size of a signed body. */
  readonly maxBodyBytes: number;
  /** Maximum size of a body without a signature: larger than 0 where the carrier verifies the URL by such a request. */
  readonly maxUnsignedBytes: number;
  /** Creates the reader of requests, from stored settings and secret. */
  createReader(settings: unknown, secret: string): ReadCallback;
};
