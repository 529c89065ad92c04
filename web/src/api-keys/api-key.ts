import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';

/** The permission that changes to API keys require. */
export const NEED: Need = { scope: 'keys', write: true };

export const KEYS = '/api/partner-gateway/v1/authentication';

export const STATES = ['active', 'expired'] as const;

type KeySearch = {
  readonly page: number;
  readonly limit: number;
  /** The ID of the user who created the keys; '' for all users. */
  readonly person: string;
  readonly status: (typeof STATES)[number] | '';
};

export function listApiKeys({ page, limit, person, status }: KeySearch, signal: AbortSignal) {
  const query = { page, limit, ...(person && { userId: Number(person) }), ...(status && { status }) };
  return ok(api.GET(KEYS, { params: { query }, signal }));
}

/** Finds a key by its secret value. */
export const findApiKey = (value: string) => ok(api.GET(`${KEYS}/{id}`, { params: { path: { id: value } } }));

export type ApiKey = Awaited<ReturnType<typeof listApiKeys>>['data'][number];

/** The name of a key, or its prefix if it has none. */
export const nameOf = ({ name, prefix }: Pick<ApiKey, 'name' | 'prefix'>): string => name || `${prefix}…`;

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

/** Returns true if an active key expires within two weeks. */
export const expiresSoon = ({ status, expiresAt }: Pick<ApiKey, 'status' | 'expiresAt'>): boolean =>
  status === 'active' && expiresAt !== null && Date.parse(expiresAt) - Date.now() < SOON_DAYS * DAY_MS;
