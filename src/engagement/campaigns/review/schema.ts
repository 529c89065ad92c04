import { type Static, Type } from 'typebox';
import { shownAmount } from '../../../platform/lib/amounts.ts';
import { channelName, orNull } from '../../../platform/lib/schema.ts';
import { PreviewIn } from '../preview/schema.ts';
import { CampaignIn, Skipped } from '../schema.ts';

const { sendingMode, smsSender, smsBody, rcsAgentId, rcsTemplateId, rcsTrafficType, ...more } = PreviewIn.properties;

export const ReviewIn = Type.Object({
  sendingMode,
  smsSender,
  smsBody,
  rcsAgentId,
  rcsTemplateId,
  rcsTrafficType,
  whatsappPhoneNumberId: more.whatsappPhoneNumberId,
  whatsappTemplateId: more.whatsappTemplateId,
  contactListIds: more.contactListIds,
  destinations: CampaignIn.properties.destinations,
});
export type ReviewIn = Static<typeof ReviewIn>;

const count = (description: string) => Type.Integer({ description });

export const ReviewOut = Type.Object({
  total: count('Distinct recipients to whom something would be sent.'),
  totalSkipped: count('Recipients to whom nothing would be sent.'),
  skipped: Skipped,
  channels: Type.Array(
    Type.Object({
      channel: channelName(),
      reachable: count('Recipients who can be reached on it.'),
      first: count('Recipients for whom it is the first channel that is tried.'),
      tried: count('Estimated number of recipients that will be tried on it.'),
      deliveryRate: orNull(
        Type.Number({
          description:
            'The share of the messages of the account on this channel that were delivered in the last 90 days, 0 to 1. Null ' +
            'with fewer than 50 of them: then all are assumed to be delivered.',
        }),
      ),
      expectedPrice: shownAmount('Estimated cost.'),
      priceOfAll: shownAmount('Cost if all who can be reached on it get the message there.'),
    }),
    { description: 'In the order of the mode.' },
  ),
  expectedPrice: shownAmount('Estimated cost of the campaign.'),
  maxPrice: shownAmount('Amount that would be reserved at the confirmation: the campaign cannot cost more.'),
  breakdown: Type.Array(
    Type.Object({
      channel: Type.String(),
      country: Type.String({ description: 'ISO 3166-1 alpha-2; empty if the numbers belong to no country.' }),
      parts: Type.Integer(),
      count: Type.Integer(),
      unitPrice: shownAmount('Per part on SMS, per message on other channels.'),
      price: shownAmount('The sum.'),
    }),
    { description: 'Composition of `maxPrice`.' },
  ),
  currency: Type.String(),
  problems: Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), {
    description: 'Faults that prevent the campaign from being saved or confirmed.',
  }),
});
export type ReviewOut = Static<typeof ReviewOut>;
