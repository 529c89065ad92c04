import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Attack, type Ground, MEANS, type Tenant } from '../attack.ts';
import { ask, FROM_CONSOLE, fieldOf, MS, PG, requestsAt, type Wire, withKey } from '../requests.ts';
import { type SocketPlan, socketsOf } from '../sockets.ts';
import { cookieOf } from './work.ts';

const BULK = '/services/sms/send';
const STREAM = `${PG}/inbox/conversations/stream`;
const ACCOUNTS = 4;

/** The country whose numbers are looked up before they are sent to. */
export const LOOKED_UP_PREFIX = '352';
/** The look-ups that a trial account has in a day. */
const LOOK_UPS = 1000;
const LOOK_UP_WITHIN_MS = 60_000;

/** The codes that a trial account may send in a second with one key. */
const TRIAL_KEY_PER_SECOND = 10;

const italians = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `+3933${String(i).padStart(8, '0')}`);
/** A thousand numbers that must be looked up. */
const unknown = (thousand: number): string[] =>
  Array.from({ length: 1000 }, (_, i) => `+${LOOKED_UP_PREFIX}621${String(thousand * 1000 + i).padStart(6, '0')}`);
const bulkTo = (ground: Ground, destinations: readonly string[]): Wire =>
  withKey(ground, 'POST', BULK, { messages: [{ destinations, sender: 'Acme', body: 'x' }] });
const withKeyOf = (ground: Ground, tenant: Tenant, ...request: [method: string, path: string, body?: object]): Wire =>
  withKey({ ...ground, tenant }, ...request);
const withIdempotencyKey = ({ headers, ...wire }: Wire, key: string): Wire => ({
  ...wire,
  headers: { ...headers, 'idempotency-key': key },
});

/** Opens ten sockets of each of the four accounts, and sends the first bytes of a request with its key on each. */
const tenSocketsEach = (request: (apiKey: string) => string, more: Pick<SocketPlan, 'deaf' | 'drip'>) =>
  socketsOf({
    count: ACCOUNTS * 10,
    perSecond: ACCOUNTS * 10,
    first: async (ground) => (n) => request(([ground.tenant, ...ground.others][n % ACCOUNTS] ?? ground.tenant).apiKey),
    ...more,
  });

/** Uses up the look-ups of the account for today, and waits until they are over. */
async function useUpLookUps(ground: Ground): Promise<void> {
  let open = LOOK_UPS;
  const { promise, resolve } = Promise.withResolvers<void>();
  ground.onLookUp(() => (--open === 0 ? resolve() : undefined));
  await ask(ground, bulkTo(ground, unknown(0)));
  await Promise.race([promise, delay(LOOK_UP_WITHIN_MS)]);
}

/**
 * Attacks found by reviewers who had not built the limits: locks that others wait for, turns that do not end, and
 * lasting effects.
 */
export const OUTSIDE_ATTACKS: readonly Attack[] = [
  {
    name: 'client ids of a new account, again and again',
    player: 'production tenant',
    tiny: true,
    prepare: requestsAt(
      MEANS.productionPerSecond,
      (ground) => (n) =>
        withKey(ground, 'POST', `${MS}/sms/send`, {
          phoneNumber: `+3937${String(n).padStart(8, '0')}`,
          message: 'x',
          customerMessageId: `again-${Math.floor(n / 2) % 50}`,
        }),
    ),
  },
  {
    name: 'sends whose client ids and keys a bulk request holds',
    player: 'production tenant',
    tiny: true,
    prepare: requestsAt(
      MEANS.productionPerSecond,
      (ground) => {
        const bulkOf = (round: number): Wire => {
          const ids = Array.from({ length: 10_000 }, (_, i) => `held-${round}-${i}`);
          const messages = [{ destinations: italians(10_000), ids, sender: 'Acme', body: 'x' }];
          return withKey(ground, 'POST', BULK, { simulation: true, messages });
        };
        return (n) => {
          const round = Math.floor(n / MEANS.productionPerSecond);
          const key = `held-${round}`;
          if (n % MEANS.productionPerSecond === 0) return withIdempotencyKey(bulkOf(round), key);
          const body = { phoneNumber: '+393331234567', message: 'x', customerMessageId: `held-${round}-${n}` };
          const send = withKey(ground, 'POST', `${MS}/sms/send`, body);
          return n % 2 ? send : withIdempotencyKey(send, key);
        };
      },
      { atOnce: 64 },
    ),
  },
  {
    name: 'changes of a campaign that wait for one another',
    player: 'production tenant',
    tiny: true,
    locks: true,
    prepare: requestsAt(
      MEANS.productionPerSecond,
      async (ground) => {
        const body = { name: 'Held', sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'x' };
        const id = fieldOf(await ask(ground, withKey(ground, 'POST', `${PG}/campaigns`, body)), 'id');
        // The numbers are read while the campaign is locked.
        const long = withKey(ground, 'PUT', `${PG}/campaigns/${id}`, { destinations: italians(50_000) });
        const short = withKey(ground, 'PUT', `${PG}/campaigns/${id}`, { name: 'Waits' });
        return (n) => (n % 15 === 0 ? long : short);
      },
      { atOnce: 64 },
    ),
  },
  {
    name: 'streams of four accounts that are never read',
    player: 'production tenant',
    tiny: true,
    accounts: ACCOUNTS,
    prepare: tenSocketsEach(
      (apiKey) =>
        `GET ${STREAM} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\nx-api-key: ${apiKey}\r\n\r\n`,
      { deaf: true },
    ),
  },
  {
    name: 'chunked bodies of four accounts that do not end',
    player: 'production tenant',
    tiny: true,
    accounts: ACCOUNTS,
    prepare: tenSocketsEach(
      (apiKey) =>
        `POST ${PG}/campaigns HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n` +
        `x-api-key: ${apiKey}\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n`,
      { drip: { everyMs: 500, octets: '1\r\n \r\n' } },
    ),
  },
  {
    name: 'pages, figures and sends of four accounts together',
    player: 'production tenant',
    tiny: true,
    accounts: ACCOUNTS,
    prepare: requestsAt(ACCOUNTS * MEANS.productionPerSecond, (ground) => {
      const tenants = [ground.tenant, ...ground.others];
      const paths = ['/contacts?limit=100', '/messages?channel=SMS', '/overview', '/audit?limit=100'];
      return (n) => {
        const tenant = tenants[n % ACCOUNTS] ?? ground.tenant;
        const turn = Math.floor(n / ACCOUNTS);
        if (turn % 2 === 0) return withKeyOf(ground, tenant, 'GET', `${PG}${paths[turn % paths.length] ?? ''}`);
        const body = { phoneNumber: '+393331234567', message: 'x', simulation: true };
        return withKeyOf(ground, tenant, 'POST', `${MS}/sms/send`, body);
      };
    }),
  },
  {
    name: 'sends to numbers that must be looked up',
    player: 'trial tenant',
    tiny: true,
    meets: {
      claim: 'an account has no more numbers looked up than its plan allows',
      holds: (answers) => (answers['looked up'] ?? 0) === 0,
    },
    prepare: async (ground) => {
      await useUpLookUps(ground);
      ground.onLookUp(() => ground.count('looked up'));
      return requestsAt(MEANS.trialPerSecond, () => (n) => bulkTo(ground, unknown(n + 1)))(ground);
    },
  },
  {
    name: 'changes with a session that was left open',
    player: 'trial tenant',
    tiny: true,
    hasOldSessions: true,
    meets: {
      claim: 'a session that was left open changes no keys, users or webhooks',
      holds: (answers) => (answers['403'] ?? 0) > 0 && (answers['201'] ?? 0) === 0,
    },
    prepare: requestsAt(MEANS.trialPerSecond, async (ground) => {
      const headers = { ...FROM_CONSOLE, cookie: await cookieOf(ground) };
      const changes = [
        ['/authentication', { name: 'kept' }],
        ['/users', { username: 'kept@example.com', password: 'long-enough-for-it', role: 'admin' }],
        ['/webhooks/delivery-status', { callbackUrl: 'https://example.com/' }],
      ] as const;
      return (n) => {
        const [path, body] = changes[n % changes.length] ?? changes[0];
        return { method: 'POST', path: `${PG}${path}`, headers, body: JSON.stringify(body) };
      };
    }),
  },
  {
    name: 'readers of four event feeds that wait',
    player: 'trial tenant',
    tiny: true,
    accounts: ACCOUNTS,
    prepare: requestsAt(
      ACCOUNTS * MEANS.trialPerSecond,
      async (ground) => {
        const tenants = [ground.tenant, ...ground.others];
        for (const tenant of tenants)
          await ask(ground, withKeyOf(ground, tenant, 'PUT', `${PG}/event-feed/settings`, { enabled: true }));
        return (n) => withKeyOf(ground, tenants[n % ACCOUNTS] ?? ground.tenant, 'GET', `${PG}/event-feed?wait=25`);
      },
      { atOnce: 10 * ACCOUNTS },
    ),
  },
  {
    name: 'sends to a person with consents for thousands of senders',
    player: 'trial tenant',
    tiny: true,
    prepare: requestsAt(MEANS.trialPerSecond, async (ground) => {
      const to = '+393331234567';
      for (let n = 0; n < 20; n++) {
        const consents = Array.from({ length: 5000 }, (_, i) => ({
          to,
          channel: 'SMS',
          purpose: 'otp',
          sender: `s${n * 5000 + i}`,
          state: 'OPTED_IN',
        }));
        // Rejected: a person has a hundred at most.
        await ask(ground, withKey(ground, 'PUT', `${PG}/consents`, { consents })).catch(() => undefined);
      }
      return () => withKey(ground, 'POST', `${MS}/sms/send`, { phoneNumber: to, message: 'x' });
    }),
  },
  {
    name: 'codes of an identity product, signed with the secret of a trial account',
    player: 'trial tenant',
    tiny: true,
    meets: {
      claim: 'an identity product sends no more codes than a key may make requests',
      holds: ({ 429: _rejected, closed: _closed, ...worked }, seconds) =>
        Object.values(worked).reduce((sum: number, count = 0) => sum + count, 0) <=
        TRIAL_KEY_PER_SECOND * (seconds + 2),
    },
    prepare: requestsAt(
      MEANS.unauthenticatedPerSecond,
      async (ground) => {
        const service = { name: 'Hostile', brand: 'Acme', codeMode: 'provided' };
        const id = fieldOf(await ask(ground, withKey(ground, 'POST', `${PG}/verify/services`, service)), 'id');
        const secret = 'the secret of an identity product';
        await ask(ground, withKey(ground, 'PUT', `${PG}/verify/services/${id}/hook-secret`, { secret }));
        return (n) => signedCode(`/hooks/zitadel/send-sms/${id}`, secret, `+3938${String(n).padStart(8, '0')}`);
      },
      { atOnce: 128 },
    ),
  },
];

function signedCode(path: string, secret: string, recipientPhoneNumber: string): Wire {
  const body = JSON.stringify({ contextInfo: { recipientPhoneNumber }, args: { code: '123456' } });
  const time = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  const headers = { 'content-type': 'application/json', 'zitadel-signature': `t=${time},v1=${signature}` };
  return { method: 'POST', path, headers, body };
}
