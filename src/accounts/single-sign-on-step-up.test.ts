import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PG } from '../../test/support/http/routes.ts';
import type { Identity, Token } from '../../test/support/oidc/provider.ts';
import { openSignOnStage } from '../../test/support/oidc/stage.ts';
import { exec, sql } from '../core/db/query.ts';

const BEGIN = `${PG}/session/step-up/single-sign-on`;
/** Needs a step-up, and no role. */
const GUARDED = `${PG}/users/me/second-factors/totp`;

let stage: Awaited<ReturnType<typeof openSignOnStage>>;
beforeAll(async () => {
  stage = await openSignOnStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

let people = 0;
function newPerson(more: Partial<Identity> = {}): Identity {
  people += 1;
  return { sub: `person-${people}`, email: `person${people}@example.com`, email_verified: true, ...more };
}

type Answer = { readonly cookies: readonly string[] };
const cookieOf = ({ cookies }: Answer): string =>
  cookies.filter((pair) => pair.startsWith('__Host-heliograph=')).join('; ');

let session: string;
beforeEach(async () => {
  stage.provider.person = newPerson();
  expect(await stage.put()).toMatchObject({ status: 200 });
  await stage.prove();
  session = cookieOf(await stage.signIn());
  await exec(stage.program.pool, sql`UPDATE user_session SET proven_at = now() - interval '11 minutes'`);
});
afterEach(() => {
  stage.provider.forge = null;
});

const tryGuarded = async (cookie = session) => {
  const { status, body } = await stage.ask('POST', GUARDED, { cookie });
  return status === 403 ? body.code : status;
};

/** Begins a step-up and follows the browser to the provider and back; returns what it comes with. */
async function begin(cookie = session) {
  const begun = await stage.ask('POST', BEGIN, { cookie });
  expect(begun.status).toBe(200);
  return stage.comeBack(begun);
}

describe('a step-up at the provider', () => {
  test('makes the person sign in there again, and proves the session that began it and no other', async () => {
    const other = cookieOf(await stage.signIn());
    await exec(stage.program.pool, sql`UPDATE user_session SET proven_at = now() - interval '11 minutes'`);
    expect(await tryGuarded()).toBe('step_up_required');
    const back = await begin();
    expect([back.url.searchParams.get('prompt'), back.url.searchParams.get('max_age')]).toEqual(['login', '0']);
    const answer = await stage.arrive(back);
    expect([answer.status, answer.location, cookieOf(answer)]).toEqual([303, '/confirmed', '']);
    expect(await tryGuarded()).toBe(200);
    expect(await tryGuarded(other)).toBe('step_up_required');
  });

  test('applies the rules of a sign-in: the role follows the groups', async () => {
    stage.provider.person = { ...newPerson(), sub: stage.provider.person?.sub ?? '', groups: ['staff'] };
    expect((await stage.arrive(await begin())).location).toBe('/confirmed');
    expect((await stage.ask('GET', `${PG}/session`, { cookie: session })).body.role).toBe('sender');
  });

  test('counts without the time of the sign-in, which some providers do not say', async () => {
    let said: unknown;
    stage.provider.forge = ({ claims }: Token) => {
      said = claims['auth_time'];
      delete claims['auth_time'];
    };
    expect((await stage.arrive(await begin())).location).toBe('/confirmed');
    expect(said).toBeTypeOf('number');
    expect(await tryGuarded()).toBe(200);
  });

  test('counts once, and in the browser that began it', async () => {
    const [mine, theirs] = [await begin(), await begin()];
    const expired = '/sign-in?problem=expired';
    expect((await stage.arrive({ ...mine, cookie: theirs.cookie })).location).toBe(expired);
    expect((await stage.arrive(mine)).location).toBe(expired);
    expect(await tryGuarded()).toBe('step_up_required');
    expect((await stage.arrive(theirs)).location).toBe('/confirmed');
    expect((await stage.arrive(theirs)).location).toBe(expired);
  });
});

describe('a session is not proven', () => {
  const failsWith = async (problem: string, back?: Awaited<ReturnType<typeof begin>>) => {
    const answer = await stage.arrive(back ?? (await begin()));
    expect([answer.location, cookieOf(answer)]).toEqual([`/confirmed?problem=${problem}`, '']);
  };

  test('by another person of the company', async () => {
    stage.provider.person = newPerson();
    await failsWith('not_allowed');
    const { email } = stage.provider.person;
    const { rowCount } = await stage.program.pool.query('SELECT FROM app_user WHERE username = $1', [email]);
    expect([rowCount, await tryGuarded()]).toEqual([0, 'step_up_required']);
  });

  test('by a sign-in at the provider from before the step-up', async () => {
    stage.provider.forge = ({ claims }: Token) => {
      claims['auth_time'] = Math.floor(Date.now() / 1000) - 120;
    };
    await failsWith('untrusted');
    expect(await tryGuarded()).toBe('step_up_required');
  });

  test('by a person who cancels', async () => {
    stage.provider.person = null;
    await failsWith('cancelled');
    expect(await tryGuarded()).toBe('step_up_required');
  });

  test('by a person who is let in no longer, whose sessions end', async () => {
    await stage.put({ defaultRole: null });
    await failsWith('not_allowed');
    expect(await tryGuarded()).toBe(401);
  });

  test('after it has ended', async () => {
    const back = await begin();
    await stage.ask('DELETE', `${PG}/session`, { cookie: session });
    await failsWith('expired', back);
  });

  test('when single sign-on was switched off meanwhile', async () => {
    const back = await begin();
    await stage.put({ enabled: false, clientSecret: undefined });
    await failsWith('not_allowed', back);
    expect(await tryGuarded()).toBe('step_up_required');
  });
});

describe('a step-up cannot be begun', () => {
  test('by a user who does not sign in with the provider, or by a key', async () => {
    const { username, password, apiKey } = stage.program.account;
    const byPassword = cookieOf(await stage.ask('POST', `${PG}/session`, { body: { username, password } }));
    expect((await stage.ask('POST', BEGIN, { cookie: byPassword })).status).toBe(404);
    expect((await stage.ask('POST', BEGIN, { key: apiKey })).status).toBe(403);
    expect((await stage.ask('POST', BEGIN)).status).toBe(401);
  });

  test('while single sign-on is switched off', async () => {
    await stage.put({ enabled: false, clientSecret: undefined });
    expect((await stage.ask('POST', BEGIN, { cookie: session })).status).toBe(404);
  });

  test('while the provider does not respond', async () => {
    stage.provider.isDown = true;
    expect((await stage.ask('POST', BEGIN, { cookie: session })).status).toBe(502);
    stage.provider.isDown = false;
  });
});
