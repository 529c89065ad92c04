import { api, ok } from '../../api/client.ts';
import { type Campaign, ONE } from '../campaign.ts';

export const findPrice = (id: number) => ok(api.GET(`${ONE}/price`, { params: { path: { id } } }));

export type Price = Awaited<ReturnType<typeof findPrice>>;

/** A campaign that was saved and counted just now, with what it costs. */
export type Counted = { readonly campaign: Campaign; readonly price: Price };
