import { timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { tenant, tenantTransaction } from '../../platform/db/tenant.ts';
import { AppError } from '../../platform/errors.ts';
import type { Clock } from '../../platform/lib/clock.ts';
import { open } from '../../platform/lib/secret-box.ts';
import { refuseAtGate } from '../accounts/gate.ts';
import { actorOfLogin } from '../authentication/authenticate.ts';
import { type SignedIn, signIn } from '../sessions/sign-in.ts';
import { listLogins } from '../users/sql.ts';
import { letIn } from './admit.ts';
import { hashOf, secretsContext, type SignOnDeps } from './begin.ts';
import { clientSecretOf } from './client-secret.ts';
import { discover, readClaims } from './provider.ts';
import { type Claims, roleOf, SignOnFailure, type Trial } from './settings.ts';
import { proveSession } from './step-up.ts';
import { deleteState, findSettings, type SettingsRow, type StateRow, updateTrial } from './sql.ts';

export type FinishDeps = SignOnDeps & { readonly pool: Pool; readonly clock: Clock };

export type Returned = {
  /** The query with which the provider sent the person back. */
  readonly parameters: URLSearchParams;
  /** Address at which the person arrived. */
  readonly redirectUri: string;
  /** The secret in the cookie of the browser. */
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
  const state = given !== undefined && more.length === 0 ? await deleteState(pool, { hash: hashOf(given) }) : undefined;
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
