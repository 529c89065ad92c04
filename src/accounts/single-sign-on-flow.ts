import { createHash, timingSafeEqual } from 'node:crypto';
import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomNonce } from 'oauth4webapi';
import type { Pool } from 'pg';
import type { Role, Session } from '../core/actor.ts';
import type { Config } from '../core/config.ts';
import type { Db } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { readCookie } from '../core/http/browser.ts';
import { isEmail } from '../core/mail.ts';
import type { Outbound } from '../core/outbound-post.ts';
import { open, type SecretKey, seal } from '../core/secrets.ts';
import { type Clock, MINUTE_MS } from '../core/time.ts';
import { refuseAtGate } from './accounts.ts';
import { recordAudit, systemAuthor } from './audit.ts';
import { actorOfLogin } from './authenticate.ts';
import { UNMATCHABLE_HASH } from './password.ts';
import { type SignedIn, signIn } from './session-routes.ts';
import { endSessionsOfUser, findSession, generateToken, hashOfToken, updateProven } from './sessions.ts';
import {
  type Claims,
  clientSecretOf,
  deleteState,
  findMember,
  findSettings,
  findUserByName,
  insertMember,
  insertState,
  isMember,
  type Member,
  roleOf,
  type SettingsRow,
  SignOnFailure,
  type StateRow,
  type Trial,
  updateRefusal,
  updateTrial,
} from './single-sign-on.ts';
import { authorizationUrl, discover, readClaims } from './single-sign-on-provider.ts';
import { insertUser, listAdminsForUpdate, listLogins, updateRole } from './users.ts';

/** Validity of a begun sign-in and of its cookie. */
export const STATE_SECONDS = 600;

type SignOnDeps = {
  readonly config: Pick<Config, 'publicUrl'>;
  readonly secretKey: SecretKey;
  readonly outbound: Pick<Outbound, 'signOn'>;
};

/**
 * Returns the URL to which the provider of the account with this token sends people back; exactly this URL must be
 * registered there. No two accounts share one, so that a response of one provider cannot pass for that of another.
 */
export const redirectUriOf = ({ publicUrl }: Pick<Config, 'publicUrl'>, token: string): string =>
  `${publicUrl}/oauth/single-sign-on/callback/${token}`;

/** Returns the SHA-256 of a secret, which is stored instead of it. */
const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** The context to which the encryption of nonce and verifier is bound. */
const secretsContext = (hash: Buffer): string => `single_sign_on_state.secrets ${hash.toString('hex')}`;

type Begun = {
  /** Address of the provider's sign-in page. */
  readonly authorizeUrl: string;
  /** Value for a cookie of the browser: the callback requires it from the same browser. */
  readonly browserSecret: string;
};

/** Purpose of a sign-in at the provider: to sign in here, to try the settings, or to prove a session. */
type Purpose = {
  /** The page of the console to continue with, a path. */
  readonly next: string;
  readonly isTrial: boolean;
  /** The session that is to be proven; the person must then sign in at the provider, even if they are signed in there. */
  readonly sessionId: number | null;
};

/**
 * Begins a sign-in with the provider of an account. Its state is valid for ten minutes, one use and one browser.
 * Rejects with a SignOnFailure when the provider does not respond as it should.
 */
export async function beginSignOn(
  { config, secretKey, outbound }: SignOnDeps,
  db: Db,
  settings: SettingsRow,
  { next, isTrial, sessionId }: Purpose,
): Promise<Begun> {
  const provider = await discover(outbound.signOn.fetch, settings.issuer);
  const [{ token: state, hash }, browser] = [generateToken(), generateToken()];
  const [nonce, verifier] = [generateRandomNonce(), generateRandomCodeVerifier()];
  const { accountId, version, token } = settings;
  const redirectUri = redirectUriOf(config, token);
  await insertState(db, {
    hash,
    accountId,
    browserHash: browser.hash,
    secrets: seal(secretKey, JSON.stringify({ nonce, verifier }), secretsContext(hash)),
    next,
    isTrial,
    sessionId,
    version,
    redirectUri,
    validSeconds: STATE_SECONDS,
  });
  const challenge = await calculatePKCECodeChallenge(verifier);
  const authorizeUrl = authorizationUrl(provider, settings, {
    redirectUri,
    state,
    nonce,
    challenge,
    isFresh: sessionId !== null,
  });
  return { authorizeUrl, browserSecret: browser.token };
}

/** The path to continue with: only pages of the console, never another site. */
export const ownPath = (path: string | undefined): string =>
  path !== undefined && path.length <= 2000 && /^\/(?![/\\])[\x21-\x7e]*$/.test(path) ? path : '/';

type FinishDeps = SignOnDeps & { readonly pool: Pool; readonly clock: Clock };

type Returned = {
  /** The query with which the provider sent the person back. */
  readonly parameters: URLSearchParams;
  /** Address at which the person arrived. */
  readonly redirectUri: string;
  readonly browserSecret: string | undefined;
  readonly ip: string;
  readonly userAgent: string;
};

/** The end: a session and the page to continue with, a trial whose result was stored, or a step-up. */
export type Finished =
  | { readonly kind: 'signed in'; readonly session: SignedIn; readonly next: string }
  | { readonly kind: 'tried' }
  | { readonly kind: 'stepped up' }
  | { readonly kind: 'not stepped up'; readonly failure: SignOnFailure };

/**
 * Finishes a sign-in that `beginSignOn` began: consumes its state, checks the response of the provider, and signs the
 * person in, stores the result of a trial, or proves a session. Rejects with a SignOnFailure.
 */
export async function finishSignOn(deps: FinishDeps, returned: Returned): Promise<Finished> {
  const { state, settings } = await consumeState(deps.pool, returned);
  const asked = () => askProvider(deps, settings, state, returned);
  if (state.isTrial) {
    await storeTrial(deps, settings, asked);
    return { kind: 'tried' };
  }
  const { sessionId } = state;
  if (sessionId !== null) return finishStepUp(deps.pool, settings, { ...state, sessionId }, asked);
  refuseSwitchedOff(settings);
  const session = await enter(deps.pool, settings, await asked(), returned);
  return { kind: 'signed in', session, next: state.next };
}

function refuseSwitchedOff({ enabled }: SettingsRow): void {
  if (!enabled) throw new SignOnFailure('not_allowed', 'single sign-on is switched off');
}

/** Finishes a step-up. A failure has its own page: the browser is signed in already. */
async function finishStepUp(
  pool: Pool,
  settings: SettingsRow,
  state: StateRow & { readonly sessionId: number },
  asked: () => Promise<Claims>,
): Promise<Finished> {
  try {
    refuseSwitchedOff(settings);
    await proveSession(pool, { settings, claims: await asked() }, state);
    return { kind: 'stepped up' };
  } catch (error) {
    if (!(error instanceof SignOnFailure)) throw error;
    return { kind: 'not stepped up', failure: error };
  }
}

/**
 * Consumes the state. An invalid response uses it up, too, and nothing is sent to any provider. The redirect URI tells
 * accounts apart: otherwise the provider of one could have a person's code of another sent to itself (RFC 9700
 * 4.4.2.2).
 */
async function consumeState(pool: Pool, { parameters, redirectUri, browserSecret }: Returned) {
  const [given, ...more] = parameters.getAll('state');
  const hash = more.length === 0 ? hashOfToken(given ?? '') : undefined;
  const state = hash && (await deleteState(pool, { hash }));
  const isSame =
    state !== undefined &&
    state.redirectUri === redirectUri &&
    browserSecret !== undefined &&
    timingSafeEqual(state.browserHash, hashOf(browserSecret));
  const settings = isSame ? await findSettings(tenant(pool, state), state) : undefined;
  if (!isSame || settings?.version !== state.version)
    throw new SignOnFailure(
      'expired',
      'the sign-in was not begun in this browser for this redirect URI, is used or has expired',
    );
  return { state, settings };
}

async function askProvider(
  { secretKey, outbound }: FinishDeps,
  settings: SettingsRow,
  { hash, secrets }: StateRow,
  { parameters, redirectUri }: Returned,
): Promise<Claims> {
  const { nonce, verifier } = JSON.parse(open(secretKey, secrets, secretsContext(hash)).toString());
  const provider = await discover(outbound.signOn.fetch, settings.issuer);
  return readClaims(
    outbound.signOn.fetch,
    provider,
    { ...settings, secret: clientSecretOf(secretKey, settings) },
    { parameters, state: parameters.get('state') ?? '', nonce, verifier, redirectUri },
  );
}

/** Stores the result of a trial, which may be a failure of the provider or of the rules. */
async function storeTrial({ pool, clock }: FinishDeps, settings: SettingsRow, asked: () => Promise<Claims>) {
  const { accountId, version } = settings;
  const empty = {
    at: clock.now().toISOString(),
    version,
    problem: null,
    detail: null,
    email: null,
    groups: [],
    role: null,
  };
  const store = (trial: Trial): Promise<number> => updateTrial(tenant(pool, { accountId }), { accountId, trial });
  const failed = (error: unknown) => {
    if (!(error instanceof SignOnFailure)) throw error;
    return { problem: error.problem, detail: error.message };
  };
  const claims = await asked().catch(failed);
  if ('problem' in claims) return store({ ...empty, ...claims });
  const seen = { email: claims.email, groups: claims.groups };
  try {
    return await store({ ...empty, ...seen, role: roleOf(settings, claims) });
  } catch (error) {
    return store({ ...empty, ...seen, ...failed(error) });
  }
}

async function enter(
  pool: Pool,
  settings: SettingsRow,
  claims: Claims,
  { ip, userAgent }: Pick<Returned, 'ip' | 'userAgent'>,
): Promise<SignedIn> {
  const member = await letIn(pool, { settings, claims });
  const [login] = await listLogins(pool, { usernames: [member.username] });
  if (!login) throw new SignOnFailure('expired', 'the user was removed at the same moment');
  try {
    refuseAtGate(login, ip);
  } catch (error) {
    // A suspended account, or an address that is not on the allow-list.
    throw error instanceof AppError ? new SignOnFailure('not_allowed', error.message) : error;
  }
  const input = { method: 'single-sign-on', passwordHash: null, ip, userAgent } as const;
  return tenantTransaction(pool, settings, (tx) => signIn(tx, actorOfLogin(login), input));
}

/** A person whom the provider has identified, and the settings of the account. */
type Arrival = { readonly settings: SettingsRow; readonly claims: Claims };

/**
 * Returns the user of a person: linked at an earlier sign-in, else the user of the account whose username is the
 * verified email address, else a new one. The role follows the groups, but the last admin and the admin kept for
 * emergencies stay admins. Rejects with a SignOnFailure for people whom the settings do not allow, and for operators of
 * the gateway, whom the provider of one account must not be able to name. For people who are denied, sessions end, and
 * the password does not sign in until they are allowed again.
 */
async function letIn(pool: Pool, arrival: Arrival): Promise<Member> {
  const { settings } = arrival;
  return tenantTransaction(pool, settings, (tx) => admit(tx, arrival)).catch(async (error: unknown) => {
    if (error instanceof SignOnFailure) await tenantTransaction(pool, settings, (tx) => shutOut(tx, arrival));
    throw error;
  });
}

async function admit(tx: Db, { settings, claims }: Arrival): Promise<Member> {
  const role = roleOf(settings, claims);
  const { accountId, issuer } = settings;
  const linked = await findMember(tx, { accountId, issuer, subject: claims.subject });
  const user = linked ?? (await linkByEmail(tx, { settings, claims }));
  if (user?.isOperator) throw new SignOnFailure('not_allowed', 'operators of the gateway sign in with their password');
  if (linked) await updateRefusal(tx, { accountId, issuer, subject: claims.subject, isRefused: false });
  return user ? follow(tx, settings, user, role) : create(tx, { settings, claims }, role);
}

async function shutOut(tx: Db, { settings, claims }: Arrival): Promise<void> {
  const { accountId, issuer } = settings;
  const person = { accountId, issuer, subject: claims.subject };
  const user = await findMember(tx, person);
  if (!user) return;
  await updateRefusal(tx, { ...person, isRefused: true });
  const reason = 'single sign-on was refused';
  await endSessionsOfUser(tx, systemAuthor(accountId), { userId: user.id, exceptId: null, reason });
}

async function linkByEmail(tx: Db, { settings, claims }: Arrival): Promise<Member | undefined> {
  const { accountId, issuer } = settings;
  const { email, subject } = claims;
  const user = email === null ? undefined : await findUserByName(tx, { accountId, username: email });
  if (!user || user.isOperator) return user;
  if ((await insertMember(tx, { accountId, issuer, subject, userId: user.id })) === 0)
    throw new SignOnFailure('not_allowed', 'another person of the provider is this user already');
  await recordLink(tx, settings, user);
  return user;
}

async function follow(tx: Db, settings: SettingsRow, user: Member, role: Role): Promise<Member> {
  const { accountId, emergencyUserId } = settings;
  if (user.role === role) return user;
  if (user.role === 'admin') {
    const admins = await listAdminsForUpdate(tx, { accountId });
    if (user.id === emergencyUserId || admins.every(({ id }) => id === user.id)) return user;
  }
  await updateRole(tx, { accountId, id: user.id, role });
  const detail = { username: user.username, from: user.role, to: role, by: 'single sign-on' };
  await recordAudit(tx, systemAuthor(accountId), { action: 'user.role', subject: `user:${user.id}`, detail });
  return { ...user, role };
}

async function create(tx: Db, { settings, claims }: Arrival, role: Role): Promise<Member> {
  const { accountId, issuer } = settings;
  // The user has no password until a link sets one.
  const passwordHash = UNMATCHABLE_HASH;
  for (const username of usernames(settings, claims)) {
    const made = await insertUser(tx, { accountId, username, passwordHash, role });
    if (!made) continue;
    const user = { id: made.id, username, role, isOperator: false };
    await insertMember(tx, { accountId, issuer, subject: claims.subject, userId: user.id });
    const detail = { username, role, by: 'single sign-on' };
    await recordAudit(tx, systemAuthor(accountId), { action: 'user.create', subject: `user:${user.id}`, detail });
    return user;
  }
  throw new SignOnFailure('not_allowed', 'the username is taken in another account');
}

/** The usernames to try: the email address, then one in a namespace of the account. */
function usernames({ shortName, issuer }: SettingsRow, { email, subject }: Claims): string[] {
  const digest = createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('hex');
  return [...(email !== null && isEmail(email) ? [email] : []), `${shortName}.${digest.slice(0, 16)}`];
}

const recordLink = (tx: Db, { accountId, issuer }: SettingsRow, { id, username }: Member): Promise<void> =>
  recordAudit(tx, systemAuthor(accountId), {
    action: 'user.link',
    subject: `user:${id}`,
    detail: { username, issuer },
  });

/** Maximum lag of a provider's clock behind ours. */
const CLOCK_TOLERANCE_MS = MINUTE_MS;

/**
 * Begins to prove a session at the provider of its user's own account. Errors: 404 unless the user signs in with that
 * provider. Rejects with a SignOnFailure when the provider does not respond as it should.
 */
export async function beginStepUp(deps: SignOnDeps, pool: Pool, session: Session): Promise<Begun> {
  const { id: sessionId, accountId, userId } = session;
  const db = tenant(pool, session);
  const settings = await findSettings(db, session);
  if (!settings?.enabled || !(await isMember(db, { accountId, issuer: settings.issuer, userId })))
    throw new AppError('not_found', { message: 'You do not sign in with a provider' });
  return beginSignOn(deps, db, settings, { next: '/', isTrial: false, sessionId });
}

/**
 * Records for ten minutes that the user of the session is present, who has just signed in at the provider. The rules of
 * a sign-in apply, so that the role follows the groups here, too. Rejects with a SignOnFailure for another person, for
 * one whom the settings do not allow, and if the provider states that the person signed in before the step-up began.
 */
async function proveSession(
  pool: Pool,
  { settings, claims }: Arrival,
  { sessionId, begunAt }: Pick<StateRow, 'begunAt'> & { readonly sessionId: number },
): Promise<void> {
  const { accountId, issuer } = settings;
  const { subject, authenticatedAt } = claims;
  if (authenticatedAt !== null && authenticatedAt.getTime() < begunAt.getTime() - CLOCK_TOLERANCE_MS)
    throw new SignOnFailure('untrusted', 'the provider did not ask the person to sign in again');
  const db = tenant(pool, settings);
  const session = await findSession(db, { accountId, id: sessionId });
  if (!session) throw new SignOnFailure('expired', 'the session has ended');
  const member = await findMember(db, { accountId, issuer, subject });
  if (member?.id !== session.userId) throw new SignOnFailure('not_allowed', 'another person signed in at the provider');
  await letIn(pool, { settings, claims });
  const updated = await tenantTransaction(pool, settings, (tx) => updateProven(tx, { accountId, id: sessionId }));
  if (updated === 0) throw new SignOnFailure('expired', 'the session has ended');
}

/** Name of the cookie. Browsers accept this prefix only from this host, over HTTPS (or on the machine itself). */
const NAME = '__Host-heliograph-sign-on';

/**
 * Makes the Set-Cookie header with the secret of the browser that begins; 0 seconds remove it. SameSite=Lax: the cookie
 * is sent when the provider sends the person back, but with no form or script of another site.
 */
export const browserCookie = (secret: string, maxAgeSeconds: number): string =>
  `${NAME}=${secret}; Path=/; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; SameSite=Lax`;

/** Reads the secret from the Cookie header of a browser; undefined if there is none. */
export const browserSecretIn = (header: string | undefined): string | undefined => readCookie(header, NAME);
