import type { TrafficType } from './traffic-type.ts';

/** One message in the network's own JSON, validated before it was accepted. */
type NetworkJson = { readonly [key: string]: unknown };

/** A Graph API message without its addresses: `type` names the one other member, which holds the content. */
export type WhatsAppContent = {
  readonly channel: 'WHATSAPP';
  readonly message: NetworkJson & { readonly type: string };
};

/** An RBM `contentMessage`: a text, a `richCard`, or media by `contentInfo`, each with optional suggestions. */
export type RcsContent = {
  readonly channel: 'RCS';
  readonly message: NetworkJson;
  /** Defaults to that of the connection. */
  readonly trafficType?: TrafficType;
};

/** Content that is sent instead of plain text. */
export type Content = WhatsAppContent | RcsContent;
