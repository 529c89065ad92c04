import { TOTP } from 'otpauth';
import { type Attack, type Ground, MEANS } from '../attack.ts';
import { ask, FROM_CONSOLE, fieldOf, PG, requestsAt, signIn, type Wire, withKey } from '../requests.ts';

const KEYS = 100;
/** Requests per second that one key of a trial account may make. */
const TRIAL_PER_SECOND = 10;

/** Creates keys, each with the newest, so that no key reaches its own limit; returns as many as the account may have. */
async function createKeys(ground: Ground): Promise<string[]> {
  const keys = [ground.tenant.apiKey];
  for (const apiKey of keys) {
    const create = withKey({ ...ground, tenant: { ...ground.tenant, apiKey } }, 'POST', `${PG}/authentication`, {});
    const made = await ask(ground, create).catch((error: unknown) => {
      if (/returned (409|429)/.test(String(error))) return null;
      throw error;
    });
    if (made === null || keys.length >= KEYS) break;
    keys.push(String(fieldOf(made, 'apiKey')));
  }
  return keys;
}

/** Adds an authenticator app to the attacker's user, and signs in with the password alone; returns what waits for a code. */
async function pendingTokenOf(ground: Ground): Promise<string> {
  const { username, password } = ground.tenant;
  const { headers } = await ask(ground, signIn({ username, password }));
  const cookie = [headers['set-cookie']].flat()[0]?.split(';')[0] ?? '';
  const post = (path: string, body: object): Wire => ({
    method: 'POST',
    path: `${PG}/users/me/second-factors${path}`,
    headers: { ...FROM_CONSOLE, cookie },
    body: JSON.stringify(body),
  });
  const secret = String(fieldOf(await ask(ground, post('/totp', {})), 'secret'));
  await ask(ground, post('/totp/confirm', { code: new TOTP({ secret }).generate() }));
  return String(fieldOf(await ask(ground, signIn({ username, password })), 'pendingToken'));
}

/** Attacks that multiply a limit: many keys of one account, and a sign-in that stops halfway. */
export const KEY_ATTACKS: readonly Attack[] = [
  {
    name: 'all keys that a trial account gets, used together',
    player: 'trial tenant',
    tiny: true,
    meets: {
      claim: 'all keys of an account together get no more than two of them',
      holds: (answers, seconds) => (answers['200'] ?? 0) <= 2 * TRIAL_PER_SECOND * (seconds + 2),
    },
    prepare: requestsAt(KEYS * MEANS.trialPerSecond, async (ground) => {
      const keys = await createKeys(ground);
      const paths = ['/contacts', '/campaigns', '/messages?channel=SMS', '/authentication'];
      return (n) => ({
        method: 'GET',
        path: `${PG}${paths[n % paths.length] ?? ''}`,
        headers: { 'x-api-key': keys[n % keys.length] ?? '' },
      });
    }),
  },
  {
    name: 'challenges for the passkey of a sign-in that waits',
    player: 'trial tenant',
    tiny: true,
    prepare: requestsAt(MEANS.unauthenticatedPerSecond, async (ground) => {
      const pendingToken = await pendingTokenOf(ground);
      const body = JSON.stringify({ pendingToken });
      return () => ({ method: 'POST', path: `${PG}/session/passkey-options`, headers: FROM_CONSOLE, body });
    }),
  },
];
