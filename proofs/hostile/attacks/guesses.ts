import { randomBytes, randomUUID } from 'node:crypto';
import { type Attack, type Ground, MEANS, withinLine } from '../attack.ts';
import { PG, requestsAt, signIn, type Wire } from '../requests.ts';

const STATUS = `${PG}/messages/status/unknown`;
const wrongKey = (): string => `pg_live_${randomBytes(32).toString('base64url')}`;
const basic = (name: string): string => `Basic ${Buffer.from(`${name}:${randomUUID()}`).toString('base64')}`;

const guess = (
  name: string,
  perSecond: number,
  make: (ground: Ground) => (n: number) => Wire,
  more: Pick<Attack, 'tiny'> & { readonly from?: (ground: Ground) => string } = {},
): Attack => {
  const { from, ...rest } = more;
  return {
    name,
    player: 'unauthenticated client',
    ...rest,
    prepare: requestsAt(perSecond, make, from ? { from } : {}),
  };
};

const get = (path: string, headers: Readonly<Record<string, string>> = {}): Wire => ({ method: 'GET', path, headers });
const withWrongKey = (): Wire => get(STATUS, { 'x-api-key': wrongKey() });
const withWrongPassword = (name: string): Wire => get(STATUS, { authorization: basic(name) });
const FLOOD = MEANS.unauthenticatedPerSecond;
/** The size of /docs/scalar.js: the line carries responses, too. */
const SCRIPT_BYTES = 3_000_000;

/** Guesses, and floods of what needs no credentials. */
export const GUESS_ATTACKS: readonly Attack[] = [
  guess('wrong API keys', FLOOD, () => withWrongKey, { tiny: true }),
  guess("wrong API keys from the victim's address", FLOOD, () => withWrongKey, { from: (g) => g.victimAddress }),
  guess("wrong passwords of the victim's user", FLOOD, (g) => () => withWrongPassword(g.victimName), { tiny: true }),
  guess("wrong passwords from the victim's address", FLOOD, (g) => () => withWrongPassword(g.victimName), {
    from: (g) => g.victimAddress,
    tiny: true,
  }),
  guess('sign-ins of unknown users', FLOOD, () => (n) => signIn({ username: `nobody-${n}`, password: randomUUID() })),
  guess(
    "sign-ins of the victim's user",
    FLOOD,
    (g) => () => signIn({ username: g.victimName, password: randomUUID() }),
  ),
  guess('figures and probes', FLOOD, () => (n) => get(['/metrics', '/health/ready'][n % 2] ?? ''), { tiny: true }),
  guess(
    'pages and descriptions',
    FLOOD / 4,
    () => (n) => get(['/', '/openapi.json', '/docs', '/docs/scalar.js'][n % 4] ?? '', { 'cache-control': 'no-cache' }),
  ),
  guess(
    'a thousand ranges of a file',
    withinLine(FLOOD, SCRIPT_BYTES),
    () => () =>
      get('/docs/scalar.js', { range: `bytes=${Array.from({ length: 1000 }, (_, i) => `${i * 2}-${i * 2}`).join()}` }),
  ),
  guess(
    'links to files',
    FLOOD,
    () => (n) =>
      get(
        `/api/files/${randomUUID()}?account=1&expires=4102444800&signature=${randomBytes(32).toString('base64url')}${n}`,
      ),
  ),
  guess('states of OAuth', FLOOD, () => () => get(`/oauth/facebook/callback?code=x&state=${wrongKey()}`)),
  guess('unknown paths', FLOOD, () => (n) => get(`/${n}/${randomUUID()}`)),
];
