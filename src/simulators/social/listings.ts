import type { SocialScript } from './script.ts';
import type { Granted } from './tokens.ts';

/** Caller as a network knows it. */
type Caller = {
  readonly script: SocialScript;
  readonly granted: Granted;
  /** Issues an access token of a page. */
  issuePage(): string;
};
type Reply = { readonly status?: number; readonly json: unknown };

const PAGE = 100;
const PICTURE = 'https://cdn.sandbox.test/ada.png';

/** Handles a path of the networks' APIs for the holder of a token: people, pages, organisations, locations. */
export function readListing(path: string, query: URLSearchParams, who: Caller): Reply {
  const from = Number(query.get('after') ?? query.get('start') ?? query.get('pageToken') ?? 0);
  const listing = LISTINGS[path];
  return listing ? listing(who, from, query) : { status: 404, json: { message: `no ${path}` } };
}

function range<T>({ granted }: Caller, from: number, make: (n: number) => T): T[] {
  return Array.from({ length: Math.max(0, Math.min(PAGE, granted.linked - from)) }, (_, i) => make(from + i));
}

function pages(who: Caller, from: number): Reply {
  const data = range(who, from, (n) => ({ id: `page-${n}`, name: `Page ${n}`, access_token: who.issuePage() }));
  const next = from + PAGE < who.granted.linked ? { next: 'https://graph.facebook.com/next' } : {};
  return { json: { data, paging: { cursors: { after: String(from + PAGE) }, ...next } } };
}

const person = (): Reply => ({
  json: { sub: 'person-1', name: 'Ada Acme', email: 'ada@acme.test', picture: PICTURE },
});

const LISTINGS: Readonly<Record<string, (who: Caller, from: number, query: URLSearchParams) => Reply>> = {
  'v/me': (_who, _from, query) =>
    query.get('fields')?.startsWith('user_id')
      ? { json: { user_id: 'bignumber:17841400000000000123', username: 'acme', name: 'Acme' } }
      : { json: { id: 'fb-1', name: 'Ada Acme', picture: { data: { url: PICTURE } } } },

  'v/me/permissions': ({ granted: { scopes } }) => ({
    json: { data: scopes.map((permission) => ({ permission, status: 'granted' })) },
  }),

  // It does not list pages in a business portfolio (trypostit/trypost#292).
  'v/me/accounts': (who, from) => (who.script.portfolio ? { json: { data: [] } } : pages(who, from)),

  'v/me/businesses': ({ granted: { scopes } }) =>
    scopes.includes('business_management')
      ? { json: { data: [{ id: 'biz-1' }] } }
      : { status: 403, json: { error: { message: '(#200) Requires business_management permission', code: 200 } } },
  'v/biz-1/owned_pages': (who, from) => pages(who, from),
  // For a page of which the person has no part, no token is issued (ChatbotXIO/ChatbotX#711).
  'v/biz-1/client_pages': () => ({ json: { data: [{ id: 'page-of-another', name: 'Of another' }] } }),

  'v2/userinfo': ({ granted: { scopes } }) =>
    scopes.includes('openid')
      ? person()
      : {
          status: 403,
          json: { status: 403, code: 'ACCESS_DENIED', message: 'Not enough permissions to access: userinfo' },
        },
  'v2/me': () => ({
    json: { id: 'li-1', localizedFirstName: 'Ada', localizedLastName: 'Acme', vanityName: 'ada-acme' },
  }),
  'oauth2/v3/userinfo': person,

  // The role of the first one does not allow posting.
  'rest/organizationAcls': (who, from) =>
    who.granted.scopes.includes('rw_organization_admin')
      ? {
          json: {
            elements: range(who, from, (n) => ({
              role: n === 0 ? 'ANALYST' : 'ADMINISTRATOR',
              state: 'APPROVED',
              organization: `urn:li:organization:${n}`,
            })),
          },
        }
      : { status: 403, json: { status: 403, code: 'ACCESS_DENIED', message: 'Not enough permissions to access' } },

  'rest/organizations': (_who, _from, query) => {
    const ids = /^List\((.*)\)$/.exec(query.get('ids') ?? '')?.[1]?.split(',') ?? [];
    return { json: { results: Object.fromEntries(ids.map((id) => [id, { localizedName: `Organisation ${id}` }])) } };
  },

  'v1/accounts': ({ script }) =>
    script.noQuota
      ? {
          status: 429,
          json: { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Quota exceeded: 0 per minute' } },
        }
      : { json: { accounts: [{ name: 'accounts/1', accountName: 'Acme' }] } },

  'v1/accounts/1/locations': (who, from, query) => {
    if (query.get('readMask') === null) return { status: 400, json: { error: { code: 400 } } };
    const locations = range(who, from, (n) => ({ name: `locations/${n}`, title: `Shop ${n}` }));
    return { json: { locations, ...(from + PAGE < who.granted.linked && { nextPageToken: String(from + PAGE) }) } };
  },

  // A field of a scope that was not granted makes it reject the whole request (SocialiteProviders/Providers#1198).
  'v2/user/info/': ({ granted: { scopes } }, _from, query) => {
    const fields = (query.get('fields') ?? '').split(',');
    const message = 'The user did not authorize the scope required for completing this request.';
    if (fields.includes('username') && !scopes.includes('user.info.profile'))
      return { status: 401, json: { data: {}, error: { code: 'scope_not_authorized', message, log_id: '1' } } };
    const all = { open_id: 'tt-1', display_name: 'Acme', username: 'acme', avatar_url: PICTURE };
    const user = Object.fromEntries(Object.entries(all).filter(([name]) => fields.includes(name)));
    return { json: { data: { user }, error: { code: 'ok', message: '', log_id: '1' } } };
  },
};
