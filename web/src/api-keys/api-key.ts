import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';

/** What one needs to change keys. */
export const NEED: Need = { scope: 'keys', write: true };

export const KEYS = '/api/partner-gateway/v1/authentication';

export const listApiKeys = ({ page, limit }: { page: number; limit: number }, signal: AbortSignal) =>
  ok(api.GET(KEYS, { params: { query: { page, limit } }, signal }));

export type ApiKey = Awaited<ReturnType<typeof listApiKeys>>['data'][number];

/** A key has no name unless somebody gave it one. */
export const nameOf = ({ name, prefix }: Pick<ApiKey, 'name' | 'prefix'>): string => name || `${prefix}…`;
