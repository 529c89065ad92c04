import { api, ok } from '../../api/client.ts';
import { type Campaign, CAMPAIGN } from '../campaign.ts';

export const findPrice = (id: number) => ok(api.GET(`${CAMPAIGN}/price`, { params: { path: { id } } }));

export type Price = Awaited<ReturnType<typeof findPrice>>;

/** A campaign that has just been saved, with its calculated price. */
export type PricedCampaign = { readonly campaign: Campaign; readonly price: Price };
