import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';

/** What one needs to change keys. */
export const NEED: Need = { scope: 'keys', write: true };

export const KEYS = '/api/partner-gateway/v1/authentication';

export const STATES = ['active', 'expired'] as const;

type KeySearch = {
  readonly page: number;
  readonly limit: number;
  /** The id of who made them; '' for everybody. */
  readonly person: string;
  readonly status: (typeof STATES)[number] | '';
};

export function listApiKeys({ page, limit, person, status }: KeySearch, signal: AbortSignal) {
  const query = { page, limit, ...(person && { userId: Number(person) }), ...(status && { status }) };
  return ok(api.GET(KEYS, { params: { query }, signal }));
}

/** The record of a key, by its value. */
export const findApiKey = (value: string) => ok(api.GET(`${KEYS}/{value}`, { params: { path: { value } } }));

export type ApiKey = Awaited<ReturnType<typeof listApiKeys>>['data'][number];

/** A key has no name unless somebody gave it one. */
export const nameOf = ({ name, prefix }: Pick<ApiKey, 'name' | 'prefix'>): string => name || `${prefix}…`;

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

/** A key that still works, but not for two weeks. */
export const expiresSoon = ({ status, expiresAt }: Pick<ApiKey, 'status' | 'expiresAt'>): boolean =>
  status === 'active' && expiresAt !== null && Date.parse(expiresAt) - Date.now() < SOON_DAYS * DAY_MS;
