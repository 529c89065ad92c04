import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PG } from '../../test/support/http/routes.ts';
import { openSignOnStage, settingsFor } from '../../test/support/oidc/stage.ts';
import { many, sql } from '../core/db/query.ts';
import { createAccount, type NewAccount } from '../operate/account-commands.ts';

const BEGIN = `${PG}/session/single-sign-on`;

let stage: Awaited<ReturnType<typeof openSignOnStage>>;
let other: NewAccount;
beforeAll(async () => {
  stage = await openSignOnStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

let domains = 0;
/** Domain that is not in use yet: most tests need another one. */
let domain: string;
beforeEach(async () => {
  domains += 1;
  domain = `company${domains}.example`;
  // Each account may have a domain checked ten times a minute.
  other = await createAccount(stage.program.pool, { name: `Other ${domains}`, plan: 'unlimited' });
  stage.provider.person = { sub: `anna${domains}`, email: `anna@${domain}`, email_verified: true };
  await putOther({});
});

const putOther = async (changes: object) => {
  const body = { ...settingsFor(stage.provider.issuer), shortName: domain.replace('.', '-'), emailDomains: [domain] };
  const path = `${PG}/account/single-sign-on`;
  const answer = await stage.ask('PUT', path, { key: other.apiKey, body: { ...body, ...changes } });
  expect(answer.status).toBe(200);
  stage.provider.register(answer.body.redirectUri);
};
const stateOf = async (key = other.apiKey) => (await stage.read(key)).settings.domains;
const beginWith = async (company: string) => (await stage.ask('POST', BEGIN, { body: { company } })).status;
/** Lets a new account name the domain; returns its key. */
async function rival(): Promise<string> {
  const { apiKey } = await createAccount(stage.program.pool, { name: 'Rival', plan: 'unlimited' });
  const body = { ...settingsFor(stage.provider.issuer), shortName: `rival${domains}`, emailDomains: [domain] };
  expect((await stage.ask('PUT', `${PG}/account/single-sign-on`, { key: apiKey, body })).status).toBe(200);
  return apiKey;
}

describe('a mail domain that is not proven', () => {
  test('does not lead from an address to the provider; the short name does', async () => {
    expect(await beginWith(`anna@${domain}`)).toBe(404);
    expect(await beginWith(domain.replace('.', '-'))).toBe(200);
  });

  test('gives no default role, while groups give theirs', async () => {
    const company = domain.replace('.', '-');
    expect((await stage.signIn(company)).location).toBe('/sign-in?problem=not_allowed');
    stage.provider.person = { sub: `bert${domains}`, email: `b@${domain}`, email_verified: true, groups: ['staff'] };
    expect((await stage.signIn(company)).location).toBe('/');
  });

  test('may be named by several accounts, each with its own record', async () => {
    const [mine, theirs] = [(await stateOf())[0], (await stateOf(await rival()))[0]];
    expect(mine).toMatchObject({ domain, isProven: false, record: { name: `_heliograph-challenge.${domain}` } });
    expect(mine.record.value).toMatch(/^heliograph-domain-verification=[0-9a-f]{64}$/);
    expect(theirs.record).toMatchObject({ name: mine.record.name });
    expect(theirs.record.value).not.toBe(mine.record.value);
  });
});

describe('a mail domain is proven by its record in DNS', () => {
  test('and then leads people to the provider, who get the default role', async () => {
    await stage.prove(other.apiKey);
    expect(await stateOf()).toMatchObject([{ domain, isProven: true }]);
    expect((await stage.signIn(`anna@${domain.toUpperCase()}`)).location).toBe('/');
    const [entry] = await many(
      stage.program.pool,
      sql`SELECT detail FROM audit_entry WHERE account_id = ${other.accountId} AND detail ? 'proven'`,
    );
    expect(entry).toEqual({ detail: { domain, proven: true } });
  });

  test('of this account, not by that of another or by nothing', async () => {
    const theirs = (await stateOf(await rival()))[0].record;
    for (const values of [[], [theirs.value], ['heliograph-domain-verification=']]) {
      stage.texts.set(theirs.name, values);
      expect((await stage.verify(domain, other.apiKey)).status).toBe(409);
    }
    expect(await stateOf()).toMatchObject([{ isProven: false }]);
    expect(await beginWith(`anna@${domain}`)).toBe(404);
  });

  test('among other records, and remains proven when the other settings change', async () => {
    const { record } = (await stateOf())[0];
    stage.texts.set(record.name, ['v=spf1 -all', record.value]);
    const { status, body } = await stage.verify(domain.toUpperCase(), other.apiKey);
    expect([status, body]).toEqual([200, { domain, isProven: true, record }]);
    await putOther({ emailDomains: ['another.example', domain] });
    expect(await stateOf()).toMatchObject([{ isProven: false }, { domain, isProven: true }]);
    await putOther({ emailDomains: ['another.example'] });
    await putOther({ emailDomains: [domain] });
    expect(await stateOf()).toMatchObject([{ domain, isProven: false }]);
  });

  test('only if the account names it', async () => {
    expect((await stage.verify('example.net', other.apiKey)).status).toBe(404);
  });

  test('only if a name server responds', async () => {
    await putOther({ emailDomains: [`${domain}.silent.example`] });
    const { status, body } = await stage.verify(`${domain}.silent.example`, other.apiKey);
    expect([status, body.message]).toEqual([502, expect.stringContaining('No name server responds')]);
  });

  test('at most ten times a minute', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => stage.verify(domain, other.apiKey)));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(2);
  });
});

describe('a mail domain that another account has proven', () => {
  test('stays there while its record does, and is lost without it', async () => {
    await stage.prove(other.apiKey);
    const apiKey = await rival();
    const [mine, theirs] = [(await stateOf())[0].record, (await stateOf(apiKey))[0].record];
    stage.texts.set(mine.name, [mine.value, theirs.value]);
    expect((await stage.verify(domain, apiKey)).status).toBe(409);
    expect([(await stateOf())[0].isProven, (await stateOf(apiKey))[0].isProven]).toEqual([true, false]);
    stage.texts.set(mine.name, [theirs.value]);
    expect((await stage.verify(domain, apiKey)).status).toBe(200);
    expect([(await stateOf())[0].isProven, (await stateOf(apiKey))[0].isProven]).toEqual([false, true]);
    const lost = await many(
      stage.program.pool,
      sql`SELECT actor_kind AS by, detail FROM audit_entry WHERE account_id = ${other.accountId} AND detail ->> 'proven' = 'false'`,
    );
    expect(lost).toEqual([{ by: 'system', detail: { domain, proven: false } }]);
  });

  test('goes to one of several that prove it at the same moment', async () => {
    const keys = [other.apiKey, await rival()];
    const records = await Promise.all(keys.map(async (key) => (await stateOf(key))[0].record));
    stage.texts.set(
      records[0].name,
      records.map(({ value }) => value),
    );
    const answers = await Promise.all(keys.map((key) => stage.verify(domain, key)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });
});
