import { randomUUID } from 'node:crypto';
import { type Attack, type Ground, MEANS } from '../attack.ts';
import { ask, fieldOf, MS, PG, requestsAt, signIn, type Wire, withKey } from '../requests.ts';

const ALL_TIME = { from: '2026-01-01T00:00:00Z', to: '2026-12-31T00:00:00Z' };
const IDS_PER_REQUEST = 1000;
const numbers = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `+3934${String(i).padStart(8, '0')}`);
const query = (path: string, fields: Readonly<Record<string, string>>): string =>
  `${PG}${path}?${new URLSearchParams(fields)}`;

/** Requests of a production key. */
const production = (
  name: string,
  make: (ground: Ground) => ((n: number) => Wire) | Promise<(n: number) => Wire>,
  more: Pick<Attack, 'tiny'> & { readonly perSecond?: number } = {},
): Attack => {
  const { perSecond = MEANS.productionPerSecond, ...rest } = more;
  return { name, player: 'production tenant', ...rest, prepare: requestsAt(perSecond, make) };
};

/** Requests of a trial account with ten keys: each key may send what the plan allows. */
const trial = (
  name: string,
  make: (ground: Ground) => Promise<(n: number) => Wire>,
  { atOnce, ...more }: Pick<Attack, 'hashes'> & { readonly atOnce?: number } = {},
): Attack => ({
  name,
  player: 'trial tenant',
  tiny: true,
  ...more,
  prepare: requestsAt(10 * MEANS.trialPerSecond, make, atOnce === undefined ? {} : { atOnce }),
});

async function tenKeys(ground: Ground): Promise<string[]> {
  const keys = [ground.tenant.apiKey];
  while (keys.length < 10) {
    const answer = await ask(ground, withKey(ground, 'POST', `${PG}/authentication`, { name: 'hostile' }));
    keys.push(String(fieldOf(answer, 'apiKey')));
  }
  return keys;
}

const withOtherKey = (
  ground: Ground,
  apiKey = '',
  ...request: Parameters<typeof withKey> extends [unknown, ...infer R] ? R : never
) => withKey({ ...ground, tenant: { ...ground.tenant, apiKey } }, ...request);

const campaignOf = (destinations: readonly string[]) => ({
  name: 'Hostile',
  sendingMode: 'SMS',
  smsSender: 'ACME',
  smsBody: 'Hello {{fullName|friend}}',
  destinations,
  readyToSend: true,
});

/** Fills the attacker's own history, so that its searches have something to read. */
async function fillHistory(ground: Ground): Promise<void> {
  const messages = [{ destinations: numbers(10_000), sender: 'Acme', body: 'One of many to search' }];
  await ask(ground, withKey(ground, 'POST', '/services/sms/send', { simulation: true, messages }));
}

/** Costly things that a tenant may do. */
export const WORK_ATTACKS: readonly Attack[] = [
  production(
    'statuses of a thousand unknown messages',
    (ground) => () =>
      withKey(
        ground,
        'GET',
        query('/messages/status', { ids: Array.from({ length: IDS_PER_REQUEST }, () => randomUUID()).join() }),
      ),
    { tiny: true },
  ),
  production(
    'wide searches and deep pages of messages',
    async (ground) => {
      await fillHistory(ground);
      return (n) => {
        const page = { page: String(1 + (n % 400)), limit: '100', pageSize: '100' };
        const path = n % 2 ? '/messages' : '/messages/history';
        return withKey(ground, 'GET', query(path, { ...ALL_TIME, channel: 'SMS', ...page }));
      };
    },
    { tiny: true },
  ),
  production(
    'deep pages of contacts',
    (ground) => (n) =>
      withKey(ground, 'GET', query('/contacts', { page: String(n * 1000), search: 'a', limit: '100' })),
  ),
  production(
    'figures of all time',
    (ground) => (n) =>
      n % 2
        ? withKey(ground, 'GET', query('/campaigns/stats', { startDate: '2026-01-01', endDate: '2035-12-31' }))
        : withKey(ground, 'GET', `${PG}/overview`),
  ),
  production(
    'exports of all messages',
    async (ground) => {
      await fillHistory(ground);
      const span = { startDateTime: ALL_TIME.from, endDateTime: ALL_TIME.to };
      return (n) =>
        withKey(ground, 'POST', `${PG}/messages/history/export`, { ...span, format: n % 2 ? 'xlsx' : 'csv.gz' });
    },
    { tiny: true },
  ),
  production(
    'campaigns that are created, priced and deleted',
    async (ground) => {
      const create = withKey(ground, 'POST', `${PG}/campaigns`, campaignOf(numbers(500)));
      const id = Number(fieldOf(await ask(ground, create), 'id'));
      // Each new campaign has the next id, or nearly so: other attacks create none at the same time.
      return (n) =>
        [
          create,
          withKey(ground, 'POST', `${PG}/campaigns/${id + Math.floor(n / 3)}/calculateGoal`),
          withKey(ground, 'DELETE', `${PG}/campaigns/${id + Math.floor(n / 3) - 1}`),
        ][n % 3] ?? create;
    },
    { tiny: true },
  ),
  production('prices of a campaign to 50,000 numbers', async (ground) => {
    const body = campaignOf(numbers(50_000));
    const id = String(fieldOf(await ask(ground, withKey(ground, 'POST', `${PG}/campaigns`, body)), 'id'));
    return () => withKey(ground, 'POST', `${PG}/campaigns/${id}/calculateGoal`);
  }),
  production('lists that are filled and emptied', async (ground) => {
    const list = fieldOf(await ask(ground, withKey(ground, 'POST', `${PG}/contacts/list`, { name: 'Hostile' })), 'id');
    const contactIds = Array.from({ length: 10_000 }, (_, i) => i + 1);
    return (n) =>
      withKey(ground, n % 2 ? 'DELETE' : 'POST', `${PG}/contacts/list/contacts`, { listIds: [list], contactIds });
  }),
  production('keys that are created', (ground) => () => withKey(ground, 'POST', `${PG}/authentication`, { name: 'x' })),
  production(
    'users that are created',
    (ground) => () =>
      withKey(ground, 'POST', `${PG}/users`, {
        username: `hostile-${randomUUID()}`,
        password: randomUUID(),
        role: 'viewer',
      }),
    { tiny: true },
  ),
  trial(
    'passwords that are set with ten keys',
    async (ground) => {
      const keys = await tenKeys(ground);
      const viewer = { username: `hostile-${randomUUID()}`, password: randomUUID(), role: 'viewer' };
      const id = fieldOf(await ask(ground, withKey(ground, 'POST', `${PG}/users`, viewer)), 'id');
      return (n) => withOtherKey(ground, keys[n % keys.length], 'PUT', `${PG}/users/${id}`, { password: randomUUID() });
    },
    { hashes: true, atOnce: 128 },
  ),
  trial('passwords for SMPP that are made with ten keys', async (ground) => {
    const keys = await tenKeys(ground);
    const id = fieldOf(await ask(ground, withKey(ground, 'POST', `${PG}/smpp/credentials`, {})), 'id');
    return (n) => withOtherKey(ground, keys[n % keys.length], 'POST', `${PG}/smpp/credentials/${id}/rotate`);
  }),
  trial('drafts of four megabytes that are read with ten keys', async (ground) => {
    const keys = await tenKeys(ground);
    const path = `${PG}/campaign-drafts/${randomUUID()}`;
    const content = { destinations: numbers(250_000).join('\n') };
    await ask(ground, withKey(ground, 'PUT', path, { version: 0, name: 'Hostile', content }));
    return (n) => withOtherKey(ground, keys[n % keys.length], 'GET', path);
  }),
  production(
    'sign-ins with the right password',
    ({ tenant: { username, password } }) =>
      () =>
        signIn({ username, password }),
    { tiny: true },
  ),
  production('requests with the right password', ({ tenant: { username, password } }) => () => ({
    method: 'GET',
    path: `${PG}/overview`,
    headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
  })),
  production('requests of a signed-in person', async (ground) => {
    const cookie = await cookieOf(ground);
    const paths = ['/overview', '/messages?channel=SMS', '/contacts', '/campaigns', '/audit', '/sessions'];
    return (n) => ({ method: 'GET', path: `${PG}${paths[n % paths.length] ?? ''}`, headers: { cookie } });
  }),
  production(
    'single sends as fast as the key allows',
    (ground) => (n) =>
      withKey(ground, 'POST', `${MS}/sms/send`, {
        phoneNumber: `+3935${String(n).padStart(8, '0')}`,
        message: 'x'.repeat(1500),
      }),
  ),
  production('webhooks that are tested', async (ground) => {
    await registerWebhook(ground, 'silent');
    return () => withKey(ground, 'POST', `${PG}/webhooks/delivery-status/test`);
  }),
];

/** Registers a webhook of the attacker's account at the receiver with this manner. */
export async function registerWebhook(ground: Ground, manner: string): Promise<void> {
  const callbackUrl = `https://localhost:${ground.receiverPorts[manner]}/${encodeURIComponent(manner)}`;
  await ask(ground, withKey(ground, 'POST', `${PG}/webhooks/delivery-status`, { callbackUrl }));
}

/** Signs the attacker's user in; returns the cookie of the session. */
export async function cookieOf(ground: Ground): Promise<string> {
  const { username, password } = ground.tenant;
  const { headers } = await ask(ground, signIn({ username, password }));
  const cookie = [headers['set-cookie']].flat()[0]?.split(';')[0];
  if (cookie === undefined) throw new Error('signing in set no cookie');
  return cookie;
}
