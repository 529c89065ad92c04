import { type Static, Type } from 'typebox';
import { orNull } from '../core/schema.ts';

/** A text of the person or of the network. */
const text = (description?: string) => Type.String(description === undefined ? {} : { description });

const QuotedMessage = Type.Object({
  networkId: text('Its id at the network.'),
  messageId: orNull(
    Type.String({ format: 'uuid', description: 'Its messageId, or the id of an inbound message. Null: not stored.' }),
  ),
});
export type QuotedMessage = Static<typeof QuotedMessage>;

const Referral = Type.Object({
  sourceType: text('`ad` or `post`.'),
  sourceId: text(),
  sourceUrl: text(),
  headline: text(),
  body: text(),
  mediaType: text('`image` or `video`.'),
  mediaUrl: text(),
  thumbnailUrl: text(),
  ctwaClid: text("The id of the click, for advertisers' reports to Meta. Empty for posts."),
});
export type Referral = Static<typeof Referral>;

const SharedLocation = Type.Object({
  latitude: Type.Number(),
  longitude: Type.Number(),
  name: text(),
  address: text(),
  url: text(),
});
export type SharedLocation = Static<typeof SharedLocation>;

const SharedContact = Type.Object({
  name: text(),
  organization: text(),
  phones: Type.Array(
    Type.Object({
      phone: text('As the card has it.'),
      type: text(),
      whatsapp: text('The number on WhatsApp in digits, if it is there.'),
    }),
  ),
  emails: Type.Array(text()),
});
export type SharedContact = Static<typeof SharedContact>;

const InboundOrder = Type.Object({
  catalogId: text(),
  text: text(),
  items: Type.Array(
    Type.Object({
      productId: text('The id of the product at its seller.'),
      quantity: Type.Number(),
      itemPrice: Type.Number({ description: 'Of one item, in units of the currency.' }),
      currency: text(),
    }),
  ),
});

/**
 * The structured content of an inbound message next to its text and its file: what a person pressed, chose, quoted or
 * shared. It has only the members that the message has, and texts are empty if the network omits them. It is stored
 * (`inbound_message.content`) and returned by the API in this form, so members are only ever added.
 */
export const InboundContent = Type.Object(
  {
    button: Type.Optional(
      Type.Object(
        { text: text(), payload: text('The data that you gave the button.') },
        { description: 'A pressed button (WhatsApp, RCS).' },
      ),
    ),
    list: Type.Optional(
      Type.Object(
        { id: text('The id that you gave the row.'), title: text(), description: text() },
        { description: 'A chosen row of a list (WhatsApp).' },
      ),
    ),
    flow: Type.Optional(
      Type.Object(
        { name: text(), response: Type.Record(Type.String(), Type.Unknown()) },
        { description: 'A completed form, in its own format (WhatsApp).' },
      ),
    ),
    replyTo: Type.Optional(QuotedMessage),
    forwarded: Type.Optional(Type.Boolean({ description: 'True: the person has forwarded it (WhatsApp).' })),
    product: Type.Optional(
      Type.Object(
        { catalogId: text(), productId: text() },
        { description: 'The product that the person asks about (WhatsApp).' },
      ),
    ),
    referral: Type.Optional(Referral),
    location: Type.Optional(SharedLocation),
    contacts: Type.Optional(Type.Array(SharedContact)),
    order: Type.Optional(InboundOrder),
  },
  { description: 'What the person pressed, chose, quoted or shared. Untrusted, like the text.' },
);
export type InboundContent = Static<typeof InboundContent>;
