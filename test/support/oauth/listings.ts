/** What a network knows of the caller. */
type Caller = {
  readonly script: { readonly pages: number; readonly noQuota: boolean };
  readonly scopes: readonly string[];
  /** Issues an access token of a page. */
  issuePage(): string;
};
type Reply = { readonly status?: number; readonly json: unknown };

const PAGE = 100;
const PICTURE = 'https://cdn.test/ada.jpg';

/** Answers a path of the networks' APIs for the holder of a token: people, pages, organisations, locations. */
export function readListing(path: string, query: URLSearchParams, who: Caller): Reply {
  const from = Number(query.get('after') ?? query.get('start') ?? query.get('pageToken') ?? 0);
  const listing = LISTINGS[path];
  return listing ? listing(who, from, query) : { status: 404, json: { message: `no ${path}` } };
}

function range<T>({ script }: Caller, from: number, make: (n: number) => T): T[] {
  return Array.from({ length: Math.max(0, Math.min(PAGE, script.pages - from)) }, (_, i) => make(from + i));
}

const person = (): Reply => ({
  json: { sub: 'person-1', name: 'Ada Acme', email: 'ada@acme.test', picture: PICTURE },
});

const LISTINGS: Readonly<Record<string, (who: Caller, from: number, query: URLSearchParams) => Reply>> = {
  'v23.0/me': (_who, _from, query) =>
    query.get('fields')?.startsWith('user_id')
      ? { json: { user_id: 'bignumber:17841400000000000123', username: 'acme', name: 'Acme' } }
      : { json: { id: 'fb-1', name: 'Ada Acme', picture: { data: { url: PICTURE } } } },

  'v23.0/me/permissions': ({ scopes }) => ({
    json: { data: scopes.map((permission) => ({ permission, status: 'granted' })) },
  }),

  'v23.0/me/accounts': (who, from) => {
    const data = range(who, from, (n) => ({ id: `page-${n}`, name: `Page ${n}`, access_token: who.issuePage() }));
    const next = from + PAGE < who.script.pages ? { next: 'https://graph.facebook.com/next' } : {};
    return { json: { data, paging: { cursors: { after: String(from + PAGE) }, ...next } } };
  },

  'v2/userinfo': person,
  'oauth2/v3/userinfo': person,

  // The role of the first one does not allow posting.
  'v2/organizationalEntityAcls': (who, from) => ({
    json: {
      elements: range(who, from, (n) => ({
        role: n === 0 ? 'ANALYST' : 'ADMINISTRATOR',
        organizationalTarget: `urn:li:organization:${n}`,
        'organizationalTarget~': { localizedName: `Organisation ${n}` },
      })),
    },
  }),

  'v1/accounts': ({ script }) =>
    script.noQuota
      ? { status: 403, json: { error: { code: 403, status: 'PERMISSION_DENIED' } } }
      : { json: { accounts: [{ name: 'accounts/1', accountName: 'Acme' }] } },

  'v1/accounts/1/locations': (who, from, query) => {
    if (query.get('readMask') === null) return { status: 400, json: { error: { code: 400 } } };
    const locations = range(who, from, (n) => ({ name: `locations/${n}`, title: `Shop ${n}` }));
    return { json: { locations, ...(from + PAGE < who.script.pages && { nextPageToken: String(from + PAGE) }) } };
  },

  'v2/user/info/': () => ({
    json: {
      data: { user: { open_id: 'tt-1', display_name: 'Acme', username: 'acme', avatar_url: PICTURE } },
      error: { code: 'ok', message: '', log_id: '1' },
    },
  }),
};
