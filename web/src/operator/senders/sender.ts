import { api, ok } from '../../api/client.ts';

export const SENDERS = '/api/operator/v1/senders';
export const NUMBERS = '/api/operator/v1/numbers';
export const NETWORKS = ['WHATSAPP', 'RCS'] as const;

type Page = { readonly page: number; readonly limit: number };
type Network = (typeof NETWORKS)[number];

export const listSenders = (query: Page & { channel?: Network; search?: string }, signal: AbortSignal) =>
  ok(api.GET(SENDERS, { params: { query }, signal }));
export type Sender = Awaited<ReturnType<typeof listSenders>>['data'][number];

export const listNumbers = (query: Page & { connection?: string }, signal: AbortSignal) =>
  ok(api.GET(NUMBERS, { params: { query }, signal }));
export type InboundNumber = Awaited<ReturnType<typeof listNumbers>>['data'][number];

type TemplateFilter = { readonly channel?: Network; readonly status?: string; readonly search?: string };
export const listTemplates = (query: Page & TemplateFilter, signal: AbortSignal) =>
  ok(api.GET('/api/operator/v1/templates', { params: { query }, signal }));
export type Template = Awaited<ReturnType<typeof listTemplates>>['data'][number];

export const SENDER_KEYS = [
  ['operator', 'senders'],
  ['operator', 'connections'],
  ['operator', 'overview'],
] as const;
