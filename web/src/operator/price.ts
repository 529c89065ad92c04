import { api, ok } from '../api/send.ts';
import type { CHANNELS } from './account.tsx';

export const PRICES = '/api/operator/v1/prices';
export type Channel = (typeof CHANNELS)[number];

type Listed = { readonly page: number; readonly limit: number; readonly channel?: Channel; readonly prefix?: string };
export const listPrices = (query: Listed, signal: AbortSignal) => ok(api.GET(PRICES, { params: { query }, signal }));
export type Price = Awaited<ReturnType<typeof listPrices>>['data'][number];

export const setPrice = (body: Omit<Price, 'id'>) => ok(api.PUT(PRICES, { body }));

export const PRICE_KEYS = [['operator', 'prices']] as const;
