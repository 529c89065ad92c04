import type { UseFormReturnType } from '@mantine/form';
import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';

export const NEED: Need = { scope: 'keys', write: true };
export const PATH = '/api/partner-gateway/v1/account/single-sign-on';

export const ROLES = ['viewer', 'sender', 'manager', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export const settingsQuery = queryOptions({
  queryKey: ['single-sign-on'],
  queryFn: ({ signal }) => ok(api.GET(PATH, { signal })),
});

/** The stored settings, or null. */
export type Stored = Awaited<ReturnType<NonNullable<typeof settingsQuery.queryFn>>>['settings'];
export type Domain = NonNullable<Stored>['domains'][number];
export type Trial = NonNullable<NonNullable<Stored>['lastTrial']>;

/** The settings as a form has them; `clientSecret` is empty unless a new one is entered. */
export type Draft = {
  shortName: string;
  enabled: boolean;
  issuer: string;
  clientId: string;
  clientSecret: string;
  scopes: string[];
  groupsClaim: string;
  groupRoles: { group: string; role: Role }[];
  defaultRole: Role | '';
  emailDomains: string[];
  required: boolean;
  emergencyUserId: number | null;
};

export type SettingsFormApi = UseFormReturnType<Draft>;

const EMPTY: Draft = {
  shortName: '',
  enabled: false,
  issuer: '',
  clientId: '',
  clientSecret: '',
  scopes: ['openid', 'email', 'profile'],
  groupsClaim: '',
  groupRoles: [],
  defaultRole: 'viewer',
  emailDomains: [],
  required: false,
  emergencyUserId: null,
};

/** Fills the form. */
export function draftOf(stored: Stored): Draft {
  if (stored === null) return EMPTY;
  const { hasClientSecret: _, lastTrial: __, domains: ___, groupsClaim, defaultRole, ...rest } = stored;
  return { ...rest, clientSecret: '', groupsClaim: groupsClaim ?? '', defaultRole: defaultRole ?? '' };
}

/**
 * Stores the values of the form. Without a new secret the stored one stays; without any, the client is a public one.
 */
export function putSettings(
  { clientSecret, groupsClaim, defaultRole, ...rest }: Draft,
  { hasSecret }: { readonly hasSecret: boolean },
) {
  const secret = clientSecret === '' ? (hasSecret ? {} : { clientSecret: null }) : { clientSecret };
  const body = {
    ...rest,
    ...secret,
    groupsClaim: groupsClaim.trim() === '' ? null : groupsClaim.trim(),
    defaultRole: defaultRole === '' ? null : defaultRole,
  };
  return ok(api.PUT(PATH, { body }));
}

/** Lists the administrators of the account, one of whom is kept for emergencies. */
export const adminsQuery = queryOptions({
  queryKey: ['users', 'admins'],
  queryFn: async ({ signal }) => {
    const query = { page: 0, limit: 1000 };
    const { data } = await ok(api.GET('/api/partner-gateway/v1/users', { params: { query }, signal }));
    return data.filter(({ role }) => role === 'admin');
  },
});
