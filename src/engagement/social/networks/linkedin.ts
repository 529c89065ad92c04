import { getList, getMember, getText } from '../../../carriers/json.ts';
import { type Caller, type Linked, type Network, type Profile } from './network.ts';
import { requestJson, NetworkFailure } from './web.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';

const OAUTH = 'https://www.linkedin.com/oauth/v2';
const API = 'https://api.linkedin.com/v2';
const PAGE_SIZE = 100;
const MAX_ORGANISATIONS = 2000;
const TARGET = 'organizationalTarget';
/** The roles that may post. */
const ROLES = new Set(['ADMINISTRATOR', 'CONTENT_ADMINISTRATOR']);

async function fetchProfile(caller: Caller, access: string): Promise<Profile> {
  const me = await requestJson(caller.web, `${API}/userinfo`, { bearer: access });
  return {
    externalId: getText(me, 'sub'),
    username: getText(me, 'email') || null,
    name: getText(me, 'name'),
    pictureUrl: getText(me, 'picture') || null,
    scopes: null,
    linked: await listOrganisations(caller, access),
    linkedTokens: {},
  };
}

/** Lists the organisations of a person. Applications without the organisation scopes get 403: then there are none. */
async function listOrganisations({ web }: Caller, access: string): Promise<Linked[]> {
  const linked: Linked[] = [];
  const headers = { 'X-Restli-Protocol-Version': '2.0.0' };
  const fixed = {
    q: 'roleAssignee',
    state: 'APPROVED',
    projection: `(elements*(role,${TARGET}~(localizedName)))`,
    count: String(PAGE_SIZE),
  };
  for (let start = 0; start < MAX_ORGANISATIONS; start += PAGE_SIZE) {
    const query = { ...fixed, start: String(start) };
    const json = await requestJson(web, `${API}/organizationalEntityAcls`, { query, bearer: access, headers }).catch(
      noneIfRefused,
    );
    const elements = getList(json, 'elements');
    linked.push(...elements.filter((each) => ROLES.has(getText(each, 'role'))).map(organisationOf));
    if (elements.length < PAGE_SIZE) break;
  }
  return linked;
}

function noneIfRefused(error: unknown): undefined {
  if (error instanceof NetworkFailure && !error.grantEnded) return undefined;
  throw error;
}

const organisationOf = (element: unknown): Linked => ({
  id: getText(element, TARGET),
  name: getText(getMember(element, `${TARGET}~`), 'localizedName'),
  type: 'ORGANISATION',
});

/**
 * LinkedIn (protocol sheet "social", section 3). Only approved applications get refresh tokens; with the others, the
 * person must consent again after sixty days.
 */
export const linkedin: Network = {
  platform: 'linkedin',
  label: 'LinkedIn',
  issuer: 'https://www.linkedin.com',
  authorizeUrl: `${OAUTH}/authorization`,
  tokenUrl: `${OAUTH}/accessToken`,
  clientIdName: 'client_id',
  scopes: ['openid', 'profile', 'email', 'w_member_social', 'rw_organization_admin', 'w_organization_social'],
  scopeSeparator: ' ',
  requiredScopes: ['openid', 'profile'],
  pkce: false,
  extraParameters: {},
  fetchProfile: fetchProfile,
  leadMs: 7 * DAY_MS,
  async revoke({ web, clientId, clientSecret }, { access, refresh }) {
    const form = { client_id: clientId, client_secret: clientSecret, token: refresh ?? access };
    await requestJson(web, `${OAUTH}/revoke`, { form });
  },
};
