import { randomUUID } from 'node:crypto';
import { ROLES, type Role, SCOPES, type Scope } from '../../src/core/actor.ts';
import type { Answer } from '../../test/support/client.ts';
import type { Party } from './things.ts';

/** Credentials of an account, with their rights. */
export type Caller = { readonly name: string; readonly client: Party['client'] };

const PG = '/api/partner-gateway/v1';
/** Routes for people who are signed in: passwords are not enough for most of them. */
const PERSONAL = /\/(session|sessions|users\/me)\b/;
/** Headers that a page of the console sends with a session. */
const FROM_CONSOLE = { 'x-api-key': '', 'x-heliograph-console': '1', 'sec-fetch-site': 'same-origin' };

/** Creates a user of each role. */
export async function openUsers(party: Party): Promise<Caller[]> {
  const users: Caller[] = [];
  for (const role of ROLES)
    users.push({ name: `a user with the role ${role}`, client: await withPassword(party, role) });
  return users;
}

/** Creates a user of each role, and a key for each scope alone. */
export async function openUsersAndKeys(party: Party): Promise<Caller[]> {
  const callers = await openUsers(party);
  for (const scope of SCOPES)
    callers.push({ name: `a key for the scope ${scope}`, client: await withKey(party, scope) });
  return callers;
}

/** Uses the password, which unlike a session has no limit of requests per second, wherever it is enough. */
async function withPassword({ client, token }: Party, role: Role): Promise<Party['client']> {
  const person = { username: `${token}-${randomUUID()}`, password: randomUUID() };
  expectSuccess(await client.request('POST', `${PG}/users`, { body: { ...person, role } }));
  const answer = await client.request('POST', `${PG}/session`, { body: person, headers: FROM_CONSOLE });
  expectSuccess(answer);
  const cookie = answer.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  const inSession = withHeaders(client, { ...FROM_CONSOLE, cookie });
  const basic = Buffer.from(`${person.username}:${person.password}`).toString('base64');
  const byPassword = withHeaders(client, { 'x-api-key': '', authorization: `Basic ${basic}` });
  return {
    request: (method, path, options) => (PERSONAL.test(path) ? inSession : byPassword).request(method, path, options),
  };
}

async function withKey({ client, token }: Party, scope: Scope): Promise<Party['client']> {
  const body = { name: `${token} ${scope}`, operations: [scope] };
  const { apiKey } = expectSuccess(await client.request('POST', `${PG}/authentication`, { body }));
  return withHeaders(client, { 'x-api-key': String(apiKey) });
}

const withHeaders = ({ request }: Party['client'], own: Readonly<Record<string, string>>): Party['client'] => ({
  request: (method, path, options = {}) =>
    request(method, path, { ...options, headers: { ...own, ...options.headers } }),
});

/** Returns the fields of the response to a request that must succeed. */
function expectSuccess({ status, body }: Answer): Readonly<Record<string, unknown>> {
  if (status >= 300) throw new Error(`returned ${status}: ${JSON.stringify(body)}`);
  return typeof body === 'object' && body !== null ? { ...body } : {};
}
