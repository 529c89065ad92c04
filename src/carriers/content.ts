/** The network's own JSON of one message, checked before it was accepted (protocol sheets whatsapp, rcs). */
type NetworkJson = { readonly [key: string]: unknown };

/** A Graph message without its addresses: `type` names the one member beside it that holds the content. */
export type WhatsAppContent = {
  readonly channel: 'WHATSAPP';
  readonly message: NetworkJson & { readonly type: string };
};

/** An RBM `contentMessage`: text, richCard or media by `contentInfo`, each with suggestions. */
export type RcsContent = { readonly channel: 'RCS'; readonly message: NetworkJson };

/** What goes out in place of a plain text. */
export type Content = WhatsAppContent | RcsContent;
