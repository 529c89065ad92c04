import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { createResetLink } from '../../src/identity/password-reset/link.ts';
import { PLATFORMS } from '../../src/platform/lib/social-platform.ts';
import { BULK, type Client, SEND, STATUS } from '../../test/support/client.ts';
import type { OauthServer } from '../../test/support/oauth/server.ts';
import { isSchema } from '../lib/routes.ts';
import type { Account, Stage } from '../lib/stage.ts';

/** Every secret that was given to the program or made by it, by its description. */
export type Secrets = Map<string, string>;

/** An answer that must not hold a secret. Answers whose purpose is to hand one out are not kept. */
export type KeptAnswer = { readonly what: string; readonly text: string };

const PG = '/api/partner-gateway/v1';
const NUMBER = '+393331234567';
/** What a page of the console sends. */
const FROM_CONSOLE = { 'x-api-key': '', 'x-heliograph-console': '1', 'sec-fetch-site': 'same-origin' };

const randomSecret = (): string => randomBytes(24).toString('base64url');

/** One round of everything that a client does with secrets, including what goes wrong. */
export async function runRound(
  { stage, networks }: { readonly stage: Stage; readonly networks: OauthServer },
  account: Account,
  secrets: Secrets,
  answers: KeptAnswer[],
): Promise<void> {
  const { client } = account;
  const round = secrets.size;
  const keep = (what: string, value: string): string => {
    if (value === '') throw new Error(`no value of ${what}`);
    secrets.set(`${what} ${round}`, value);
    return value;
  };
  keep('the key of the account', account.apiKey);
  keep('the password of its owner', account.password);
  const ask = createAsk(answers);
  await withKeys(client, ask, keep);
  await withSessions(account, ask, keep);
  await withSecondFactors(account, ask, keep);
  await withPeople(account, ask, keep);
  await withLinks(stage, account, ask, keep);
  await withSingleSignOn(client, ask, keep);
  await withWebhooks(client, ask, keep);
  await withMessages(client, ask);
  await withSocials(client, networks, ask);
  await withWrongCredentials(client, ask, keep);
  await withBrokenDatabase(stage, client, ask, keep);
}

type Keep = (what: string, value: string) => string;
type Ask = ReturnType<typeof createAsk>;

/** Returns a function that sends a request and keeps the answer, unless its purpose is to hand out a secret. */
function createAsk(answers: KeptAnswer[]) {
  return async (client: Client, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await client.request(method, path, { ...(body === undefined ? {} : { body }), headers });
    const fields = isSchema(answer.body) ? answer.body : {};
    const { apiKey, secret, link, id, ...rest } = fields;
    const said = isSchema(answer.body) ? rest : answer.body;
    const text = [answer.status, JSON.stringify(said), ...[...answer.headers].map((pair) => pair.join(': '))].join(
      '\n',
    );
    answers.push({ what: `${method} ${path.split('?')[0]}`, text });
    return { id: textOf(id), secret: textOf(apiKey ?? secret ?? tokenOf(textOf(link))) };
  };
}

/** The part of a link that lets its holder in. */
const tokenOf = (link: string): string => link.split('#')[1] ?? '';

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

async function withKeys(client: Client, ask: Ask, keep: Keep): Promise<void> {
  const made = await ask(
    client,
    'POST',
    `${PG}/authentication`,
    { name: 'canary' },
    { 'idempotency-key': randomSecret() },
  );
  const value = keep('a key', made.secret);
  await ask(client, 'GET', `${PG}/authentication`);
  await ask(client, 'GET', `${PG}/authentication/${value}`);
  await ask(
    client,
    'GET',
    `${PG}/authentication/${keep('an unknown key', `pg_live_${randomBytes(32).toString('base64url')}`)}`,
  );
  const rotated = await ask(client, 'POST', `${PG}/authentication/${made.id}/rotate`, { graceSeconds: 60 });
  keep('a rotated key', rotated.secret);
  await ask(client, 'POST', `${PG}/authentication`, { name: 1, apiKey: value });
  await ask(client, 'DELETE', `${PG}/authentication/${made.id}`);
  await ask(client, 'GET', STATUS, undefined, { 'x-api-key': value });
}

async function withPeople({ client, username, password }: Account, ask: Ask, keep: Keep): Promise<void> {
  const basic = (secret: string) => {
    const header = `Basic ${Buffer.from(`${username}:${secret}`).toString('base64')}`;
    return { 'x-api-key': '', authorization: keep('a Basic authorization header', header) };
  };
  await ask(client, 'GET', `${PG}/users`, undefined, basic(password));
  const passwordOfOther = keep("another user's password", randomSecret());
  const person = { username: `canary-${randomBytes(4).toString('hex')}`, password: passwordOfOther, role: 'viewer' };
  const made = await ask(client, 'POST', `${PG}/users`, person);
  await ask(client, 'POST', `${PG}/users`, person);
  await ask(client, 'POST', `${PG}/users`, { ...person, role: 'king' });
  await ask(client, 'PUT', `${PG}/users/${made.id}`, {
    password: keep('a password set by an administrator', randomSecret()),
  });
  const change = {
    currentPassword: keep('a wrong password', randomSecret()),
    newPassword: keep('the new password after a wrong one', randomSecret()),
  };
  await ask(client, 'PUT', `${PG}/users/me/password`, change, basic(password));
  const right = { currentPassword: password, newPassword: keep('the new password', randomSecret()) };
  await ask(client, 'PUT', `${PG}/users/me/password`, right, basic(password));
  await ask(client, 'DELETE', `${PG}/users/${made.id}`);
}

/** People sign in, also with wrong credentials; the cookie of a session is the secret that they receive. */
async function withSessions({ client, username, password }: Account, ask: Ask, keep: Keep): Promise<void> {
  const { headers } = await client.request('POST', `${PG}/session`, {
    headers: FROM_CONSOLE,
    body: { username, password },
  });
  const [name = '', token = ''] = (headers.get('set-cookie') ?? '').split(';')[0]?.split('=') ?? [];
  const cookie = { ...FROM_CONSOLE, cookie: `${name}=${keep('the token of a session', token)}` };
  await ask(client, 'GET', `${PG}/session`, undefined, cookie);
  await ask(client, 'GET', `${PG}/sessions`, undefined, cookie);
  await ask(client, 'GET', `${PG}/sessions?userId=${token}`, undefined, cookie);
  await ask(client, 'POST', `${PG}/users`, { username: token }, { cookie: cookie.cookie });
  const wrong = { username, password: keep('a password that fails to sign in', randomSecret()) };
  await ask(client, 'POST', `${PG}/session`, wrong, FROM_CONSOLE);
  await ask(client, 'POST', `${PG}/session`, wrong);
  const none = keep('the token of an unknown session', randomBytes(32).toString('base64url'));
  await ask(client, 'GET', `${PG}/session`, undefined, { ...FROM_CONSOLE, cookie: `${name}=${none}` });
  await ask(client, 'DELETE', `${PG}/session`, undefined, cookie);
  await ask(client, 'GET', `${PG}/session`, undefined, cookie);
}

/** A person adds an authenticator app, signs in with wrong and right codes, and removes it. */
async function withSecondFactors({ client, username, password }: Account, ask: Ask, keep: Keep): Promise<void> {
  const signIn = (path: string, body: object) =>
    client.request('POST', `${PG}/session${path}`, { headers: FROM_CONSOLE, body });
  const { headers } = await signIn('', { username, password });
  const cookie = { ...FROM_CONSOLE, cookie: (headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
  const factors = `${PG}/users/me/second-factors`;
  const begun = (await client.request('POST', `${factors}/totp`, { headers: cookie })).body;
  const secret = keep('the secret of an authenticator app', isSchema(begun) ? textOf(begun['secret']) : '');
  const codeIn = (steps: number): string =>
    TOTP.generate({ secret: Secret.fromBase32(secret), timestamp: Date.now() + steps * 30_000 });
  const confirmation = { headers: cookie, body: { code: codeIn(-1) } };
  const added = (await client.request('POST', `${factors}/totp/confirm`, confirmation)).body;
  const codes = isSchema(added) && Array.isArray(added['recoveryCodes']) ? added['recoveryCodes'].map(textOf) : [];
  const [recoveryCode = '', unused = ''] = codes;
  keep('an unused recovery code', unused);
  const pending = (await signIn('', { username, password })).body;
  const pendingToken = keep('the token of a pending sign-in', isSchema(pending) ? textOf(pending['pendingToken']) : '');
  for (const code of [keep('a wrong recovery code', 'aaaa-bbbb-cccc-dddd'), keep('a recovery code', recoveryCode)])
    await ask(client, 'POST', `${PG}/session/second-factor`, { pendingToken, code }, FROM_CONSOLE);
  await ask(client, 'POST', `${PG}/session/passkey-options`, { pendingToken }, FROM_CONSOLE);
  await ask(
    client,
    'POST',
    `${PG}/session/step-up`,
    { password: keep('a password to confirm with', randomSecret()) },
    cookie,
  );
  await ask(client, 'GET', factors, undefined, cookie);
  await ask(client, 'DELETE', `${factors}/totp`, undefined, cookie);
}

/** A person is invited twice, accepts, and sets a new password by a link. */
async function withLinks({ pool }: Stage, { client, accountId }: Account, ask: Ask, keep: Keep): Promise<void> {
  const username = `canary-${randomBytes(4).toString('hex')}@example.com`;
  const invited = await ask(client, 'POST', `${PG}/invitations`, { email: username, role: 'viewer' });
  const again = await ask(client, 'POST', `${PG}/invitations/${invited.id}/resend`, {});
  const tokens = [keep('the token of an earlier link', invited.secret), keep('the token of a link', again.secret)];
  const password = keep('the password of an invited person', randomSecret());
  for (const token of tokens) {
    await ask(client, 'POST', `${PG}/invitations/open`, { token }, FROM_CONSOLE);
    await ask(client, 'POST', `${PG}/invitations/accept`, { token, password }, FROM_CONSOLE);
  }
  await ask(client, 'GET', `${PG}/invitations`);
  await ask(client, 'POST', `${PG}/password-reset`, { username }, FROM_CONSOLE);
  const { rows } = await pool.query<{ id: number }>('SELECT id FROM app_user WHERE username = $1', [username]);
  const { link } = await createResetLink(pool, { publicUrl: '' }, { accountId, userId: rows[0]?.id ?? 0 });
  const token = keep('the token for a new password', tokenOf(link));
  const next = keep('a password set by a link', randomSecret());
  const wrong = keep('a wrong token', randomBytes(32).toString('base64url'));
  for (const each of [wrong, token, token])
    await ask(client, 'POST', `${PG}/password-reset/confirm`, { token: each, password: next }, FROM_CONSOLE);
}

/** The provider of the account does not exist, so signing in with it fails. */
async function withSingleSignOn(client: Client, ask: Ask, keep: Keep): Promise<void> {
  const path = `${PG}/account/single-sign-on`;
  const shortName = `canary-${randomBytes(4).toString('hex')}`;
  await ask(client, 'PUT', path, {
    shortName,
    enabled: true,
    issuer: 'https://127.0.0.1:8443',
    clientId: 'canary',
    clientSecret: keep('the secret of a client of a provider', randomSecret()),
    scopes: ['openid'],
    groupsClaim: 'groups',
    groupRoles: [{ group: 'all', role: 'viewer' }],
    defaultRole: null,
    emailDomains: [],
    required: false,
    emergencyUserId: null,
  });
  await ask(client, 'GET', path);
  await ask(client, 'POST', `${path}/trial`);
  await ask(client, 'POST', `${PG}/session/single-sign-on`, { company: shortName }, FROM_CONSOLE);
  const state = keep('an unknown state', randomBytes(32).toString('base64url'));
  await ask(client, 'GET', `/oauth/single-sign-on/callback/unknown?code=canary&state=${state}`);
}

async function withWebhooks(client: Client, ask: Ask, keep: Keep): Promise<void> {
  const path = `${PG}/webhooks/delivery-status`;
  const made = await ask(client, 'POST', path, { callbackUrl: 'https://127.0.0.1:8443/canary' });
  keep('the secret of the webhook', made.secret);
  await ask(client, 'GET', path);
  keep('the rotated secret of the webhook', (await ask(client, 'POST', `${path}/secret`)).secret);
  await ask(client, 'POST', `${path}/test`);
  const inUrl = keep('a password in a URL', randomSecret());
  await ask(client, 'PUT', path, { callbackUrl: `https://someone:${inUrl}@example.com/` });
}

async function withMessages(client: Client, ask: Ask): Promise<void> {
  await ask(client, 'POST', SEND, { phoneNumber: NUMBER, message: 'Hello', customerMessageId: randomSecret() });
  await ask(client, 'POST', BULK, { messages: [{ destinations: [NUMBER], sender: 'Acme', body: 'Hello' }] });
  await ask(client, 'POST', SEND, { phoneNumber: 'nonsense' });
  await ask(client, 'GET', `${STATUS}?ids=${randomSecret()}`);
  await ask(client, 'GET', `${PG}/audit`);
}

/** Profiles are connected, fail to connect, and are removed. What the networks hand out is secret. */
async function withSocials(client: Client, networks: OauthServer, ask: Ask): Promise<void> {
  const path = `${PG}/socials`;
  const comeBack = (back: URL | undefined) => ask(client, 'GET', `${back?.pathname}${back?.search}`);
  for (const platform of PLATFORMS) {
    // The answer holds the state, which is meant to be handed out.
    const { body } = await client.request('POST', `${path}/${platform}/connect`);
    const { authorizeUrl } = body as { authorizeUrl: string };
    const back = await networks.visit(authorizeUrl);
    await comeBack(back);
    await comeBack(back);
    await ask(client, 'GET', `${path}/${platform}`);
  }
  await ask(client, 'GET', path);
  networks.revoke('google');
  for (const platform of ['facebook', 'google'] as const) await ask(client, 'DELETE', `${path}/${platform}`);
}

/** Wrong credentials are secrets too: mistyped ones, or those of another system. */
async function withWrongCredentials(client: Client, ask: Ask, keep: Keep): Promise<void> {
  const secret = (what: string): string => keep(what, randomSecret());
  const wrong: Record<string, string>[] = [
    { 'x-api-key': secret('a wrong key') },
    { 'x-api-key': '', authorization: `Bearer ${secret('a token')}` },
    {
      'x-api-key': '',
      authorization: `Basic ${Buffer.from(`nobody:${secret('the password of an unknown user')}`).toString('base64')}`,
    },
    { 'x-api-key': '', authorization: secret('an invalid Authorization header') },
    { cookie: `session=${secret('a cookie')}` },
    { 'idempotency-key': 'x'.repeat(300), authorization: `Basic ${secret('Basic credentials that are not Base64')}` },
  ];
  for (const headers of wrong) await ask(client, 'POST', SEND, { phoneNumber: NUMBER }, headers);
  const field = secret('a password in a body that is not JSON');
  await ask(client, 'POST', `${PG}/users`, `{"username":"x","password":"${field}"`);
}

/** Cuts the connections to the database while requests that hold secrets are under way. */
async function withBrokenDatabase({ pool }: Stage, client: Client, ask: Ask, keep: Keep): Promise<void> {
  for (let i = 0; i < 5; i++) {
    const person = {
      username: `cut-${randomBytes(4).toString('hex')}`,
      password: keep(`a password cut off ${i}`, randomSecret()),
    };
    const asking = Promise.allSettled([
      ask(client, 'POST', `${PG}/users`, { ...person, role: 'viewer' }),
      ask(
        client,
        'GET',
        `${PG}/authentication/${keep(`a key cut off ${i}`, `pg_live_${randomBytes(32).toString('base64url')}`)}`,
      ),
    ]);
    await pool.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'heliograph'`);
    await asking;
  }
}
