import { getList, getMember, getText } from '../../../carriers/json.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';
import { listOrFault } from './linked.ts';
import type { Caller, Grant, Linked, Network, Profile } from './network.ts';
import { requestJson } from './web.ts';

const OAUTH = 'https://www.linkedin.com/oauth/v2';
const API = 'https://api.linkedin.com';
const PAGE_SIZE = 100;
const MAX_ORGANISATIONS = 2000;
/** The roles that may post (Microsoft Learn, "Organization Access Control by Role"). */
const ROLES = new Set(['ADMINISTRATOR', 'CONTENT_ADMINISTRATOR']);
/** The scopes of which listing organisations needs one (same page). */
const LISTING_SCOPES = ['rw_organization_admin', 'r_organization_admin'];

type Person = Pick<Profile, 'externalId' | 'username' | 'name' | 'pictureUrl'>;

async function fetchProfile(caller: Caller, { access, scopes }: Pick<Grant, 'access' | 'scopes'>): Promise<Profile> {
  const fetchPerson = scopes.includes('openid') ? fetchUserInfo : fetchMember;
  return {
    ...(await fetchPerson(caller, access)),
    scopes: null,
    ...(LISTING_SCOPES.some((scope) => scopes.includes(scope))
      ? await listOrFault(() => listOrganisations(caller, access))
      : { linked: [], linkedFault: null }),
    linkedTokens: {},
  };
}

async function fetchUserInfo({ web }: Caller, access: string): Promise<Person> {
  const me = await requestJson(web, `${API}/v2/userinfo`, { bearer: access });
  return {
    externalId: getText(me, 'sub'),
    username: getText(me, 'email') || null,
    name: getText(me, 'name'),
    pictureUrl: getText(me, 'picture') || null,
  };
}

/** An app with the Community Management API has no `openid`; `r_basicprofile` reads this instead. */
async function fetchMember({ web }: Caller, access: string): Promise<Person> {
  const me = await requestJson(web, `${API}/v2/me`, { bearer: access });
  const name = [getText(me, 'localizedFirstName'), getText(me, 'localizedLastName')].filter((part) => part !== '');
  return {
    externalId: getText(me, 'id'),
    username: getText(me, 'vanityName') || null,
    name: name.join(' '),
    pictureUrl: null,
  };
}

/** Lists the organisations for which a person may post. */
async function listOrganisations(caller: Caller, access: string): Promise<Linked[]> {
  const linked: Linked[] = [];
  for (let start = 0; start < MAX_ORGANISATIONS; start += PAGE_SIZE) {
    const query = `q=roleAssignee&state=APPROVED&start=${start}&count=${PAGE_SIZE}`;
    const json = await requestVersioned(caller, access, `organizationAcls?${query}`);
    const elements = getList(json, 'elements');
    const urns = elements
      .filter((each) => ROLES.has(getText(each, 'role')))
      .map((each) => getText(each, 'organization'));
    linked.push(...(await withNames(caller, access, [...new Set(urns)])));
    if (elements.length < PAGE_SIZE) break;
  }
  return linked;
}

/**
 * Looks up the names of organisations. LinkedIn returns an entry for each of them; one without a name is shown by its
 * URN.
 */
async function withNames(caller: Caller, access: string, urns: readonly string[]): Promise<Linked[]> {
  if (urns.length === 0) return [];
  const ids = urns.map((urn) => urn.slice(urn.lastIndexOf(':') + 1));
  // Rest.li reads encoded parentheses and commas as text, so this is not a query of `requestJson`.
  const json = await requestVersioned(
    caller,
    access,
    `organizations?ids=List(${ids.map(encodeURIComponent).join(',')})`,
  );
  const results = getMember(json, 'results');
  return urns.map((id, at) => ({
    id,
    name: getText(getMember(results, ids[at] ?? ''), 'localizedName') || id,
    type: 'ORGANISATION',
  }));
}

/**
 * Sends a request to the versioned API. LinkedIn retires its unversioned one, and each version after about a year, with
 * 426 from then on (Microsoft Learn, "LinkedIn Marketing API Versioning"; n8n-io/n8n#28600).
 */
const requestVersioned = ({ web, apiVersion }: Caller, access: string, path: string): Promise<unknown> =>
  requestJson(web, `${API}/rest/${path}`, {
    bearer: access,
    headers: { 'LinkedIn-Version': apiVersion, 'X-Restli-Protocol-Version': '2.0.0' },
  });

/**
 * LinkedIn. It rejects a sign-in with a scope that the app lacks (gitroomhq/postiz-app#1243), so organisations are only
 * requested if the settings include them. Only approved apps get refresh tokens; with the others, the person must
 * consent again after sixty days.
 */
export const linkedin: Network = {
  platform: 'linkedin',
  label: 'LinkedIn',
  issuer: 'https://www.linkedin.com',
  authorizeUrl: () => `${OAUTH}/authorization`,
  tokenUrl: () => `${OAUTH}/accessToken`,
  clientIdName: 'client_id',
  scopeSeparator: ' ',
  pkce: false,
  extraParameters: () => ({}),
  needsPages: false,
  fetchProfile: fetchProfile,
  leadMs: 7 * DAY_MS,
  async revoke({ web, clientId, clientSecret }, { access, refresh }) {
    const form = { client_id: clientId, client_secret: clientSecret, token: refresh ?? access };
    await requestJson(web, `${OAUTH}/revoke`, { form });
  },
};
