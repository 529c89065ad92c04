import { afterAll, beforeAll, expect, test } from 'vitest';
import { actor, draft } from '../../test/support/drafts.ts';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { buildApi } from '../api.ts';
import type { App } from '../core/http/app.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { expireOptIns } from './opt-ins.ts';

let inbox: TestInbox;
let app: App;
let people = 0;
beforeAll(async () => {
  inbox = await openTestInbox();
  app = buildApi(inbox.deps);
  await exec(
    inbox.database.pool,
    sql`INSERT INTO consent_settings (account_id, require_opt_in) VALUES (${inbox.account.accountId}, true)`,
  );
});
afterAll(async () => {
  await app.close();
  await inbox[Symbol.asyncDispose]();
});

const nextPerson = (): string => `39333${6_000_000 + people++}`;
async function call(on: App, method: 'GET' | 'POST' | 'PUT', url: string, body?: object, key = inbox.account.apiKey) {
  const { statusCode, payload } = await on.inject({
    method,
    url,
    headers: { ...(key && { 'x-api-key': key }), ...(body && { 'content-type': 'application/json' }) },
    ...(body && { payload: JSON.stringify(body) }),
  });
  return { status: statusCode, body: payload.startsWith('{') ? JSON.parse(payload) : payload };
}
const PG = '/api/partner-gateway/v1';
const ask = (person: string, more: object = {}) =>
  call(app, 'POST', `${PG}/opt-ins`, {
    to: `+${person}`,
    mode: 'keyword',
    text: 'Acme: reply YES for offers',
    ...more,
  });
const find = async (optInId: string) => (await call(app, 'GET', `${PG}/opt-ins/${optInId}`)).body;
const consents = async (person: string) =>
  (await call(inbox.app, 'GET', `${PG}/consents?to=%2B${person}`)).body.records.map(
    ({ purpose, state, source }: Record<string, string>) => `${purpose} ${state} ${source}`,
  );
const offer = async (person: string) => {
  const by = { ...actor(inbox.account.accountId), hasOptOuts: true };
  const verdict = await inbox.deps.accept.one(by, draft({ destination: `+${person}`, purpose: 'marketing' }));
  return verdict.kind === 'refused' ? verdict.refusal : verdict.kind;
};
const textsTo = async (person: string): Promise<string[]> =>
  (
    await many<{ body: string }>(inbox.database.pool, sql`SELECT body FROM message WHERE destination = ${`+${person}`}`)
  ).map(({ body }) => body);
const pageOf = async (person: string): Promise<string> =>
  /\/c\/[\w.-]+/.exec((await textsTo(person))[0] ?? '')?.[0] ?? '';

test('a person is asked, confirms by a reply, and gets marketing only then; the proof is kept', async () => {
  const person = nextPerson();
  const { status, body } = await ask(person);
  expect([status, body.state, await consents(person)]).toEqual([201, 'PENDING', ['marketing PENDING API']]);
  expect(await textsTo(person)).toEqual(['Acme: reply YES for offers']);
  expect(await offer(person)).toBe('not_opted_in');
  await inbox.write('When is the next sale?', { from: person });
  expect((await find(body.optInId)).state).toBe('PENDING');
  await inbox.write('Yes, please!', { from: person });
  expect(await find(body.optInId)).toMatchObject({
    state: 'CONFIRMED',
    proof: { asked: 'Acme: reply YES for offers', reply: 'Yes, please!', number: `+${person}` },
  });
  expect([await consents(person), await offer(person)]).toEqual([['marketing OPTED_IN START'], 'accepted']);
});

test('a person who says no gets no marketing, and one who says nothing for seven days is as before', async () => {
  const [no, silent] = [nextPerson(), nextPerson()];
  const asked = [(await ask(no)).body, (await ask(silent)).body];
  await inbox.write('Nein danke', { from: no });
  await exec(inbox.database.pool, sql`UPDATE opt_in SET asked_at = now() - interval '8 days' WHERE state = 'PENDING'`);
  expect(await expireOptIns(inbox.database.pool)).toBe(1);
  await inbox.write('yes', { from: silent });
  expect([(await find(asked[0].optInId)).state, (await find(asked[1].optInId)).state]).toEqual(['DECLINED', 'EXPIRED']);
  expect([await consents(no), await consents(silent)]).toEqual([['marketing OPTED_OUT STOP'], []]);
  expect([await offer(no), await offer(silent)]).toEqual(['marketing_stopped', 'not_opted_in']);
});

test('on the page only the buttons change something, and the first answer counts', async () => {
  const person = nextPerson();
  const { optInId } = (await ask(person, { mode: 'page', text: 'Acme offers? {{link}}' })).body;
  const url = await pageOf(person);
  const shown = await call(app, 'GET', url, undefined, '');
  expect([shown.status, shown.body, (await find(optInId)).state]).toEqual([
    200,
    expect.stringContaining('Acme'),
    'PENDING',
  ]);
  expect(shown.body).not.toContain(person);
  expect((await call(app, 'POST', `${url}?answer=yes`, undefined, '')).status).toBe(200);
  await call(app, 'POST', `${url}?answer=no`, undefined, '');
  expect(await find(optInId)).toMatchObject({ state: 'CONFIRMED', proof: { ip: '127.0.0.1' } });
  expect(await consents(person)).toEqual(['marketing OPTED_IN PAGE']);
  expect((await call(app, 'GET', '/c/1.AAAAAAAAAAAAAAAAAAAAAA', undefined, '')).status).toBe(404);
});

test('a person who has opted out or agreed is not asked', async () => {
  const person = nextPerson();
  await inbox.write('STOP', { from: person });
  expect([(await ask(person)).status, await textsTo(person)]).toEqual([409, []]);
  const friend = nextPerson();
  const consent = { to: `+${friend}`, channel: 'SMS', purpose: 'marketing', state: 'OPTED_IN' };
  await call(inbox.app, 'PUT', `${PG}/consents`, { consents: [consent] });
  expect([(await ask(friend)).status, await textsTo(friend)]).toEqual([409, []]);
});

test.each([[{ mode: 'page' }], [{ to: '12' }], [{ text: '' }], [{ sender: 'Acme' }]])(
  '%j is rejected',
  async (more) => {
    expect((await ask(nextPerson(), more)).status).toBe(400);
  },
);

test('a yes counts only while nothing else has been said since the question', async () => {
  const [stopped, changed] = [nextPerson(), nextPerson()];
  const asked = [(await ask(stopped)).body, (await ask(changed)).body];
  await inbox.write('STOP', { from: stopped });
  const consent = { to: `+${changed}`, channel: 'SMS', purpose: 'marketing', state: 'OPTED_OUT' };
  await call(inbox.app, 'PUT', `${PG}/consents`, { consents: [consent] });
  for (const person of [stopped, changed]) await inbox.write('ok', { from: person });
  expect([(await find(asked[0].optInId)).state, (await find(asked[1].optInId)).state]).toEqual(['EXPIRED', 'EXPIRED']);
  expect([await offer(stopped), await offer(changed)]).toEqual(['opted_out', 'marketing_stopped']);
});

test('a question counts as answered only by a reply to the number that asked', async () => {
  const person = nextPerson();
  const { body } = await ask(person);
  await exec(inbox.database.pool, sql`UPDATE message SET sender = '393999999999' WHERE id = ${body.messageId}`);
  await inbox.write('ok', { from: person });
  expect((await find(body.optInId)).state).toBe('PENDING');
});

test('a person is asked twice at most, and the first answer ends both questions', async () => {
  const person = nextPerson();
  const asked = [(await ask(person)).body, (await ask(person)).body];
  expect([(await ask(person)).status, (await textsTo(person)).length]).toEqual([409, 2]);
  await inbox.write('Hayır', { from: person });
  expect([(await find(asked[0].optInId)).state, (await find(asked[1].optInId)).state]).toEqual(['EXPIRED', 'DECLINED']);
});

test.each([
  ['yes', 'OPTED_IN START', 'CONFIRMED'],
  ['no', 'OPTED_OUT STOP', 'DECLINED'],
])('a %s to the reminder counts after the first question has expired', async (reply, consent, state) => {
  const { pool } = inbox.database;
  const person = nextPerson();
  const asked = [(await ask(person)).body, (await ask(person)).body];
  await exec(pool, sql`UPDATE opt_in SET asked_at = now() - interval '8 days' WHERE id = ${asked[0].optInId}`);
  expect([await expireOptIns(pool), await consents(person)]).toEqual([1, ['marketing PENDING API']]);
  await inbox.write(reply, { from: person });
  expect([(await find(asked[1].optInId)).state, await consents(person)]).toEqual([state, [`marketing ${consent}`]]);
});

test('a no counts although the consent has changed since the question', async () => {
  const person = nextPerson();
  const { body } = await ask(person);
  const consent = { to: `+${person}`, channel: 'SMS', purpose: 'marketing', state: 'OPTED_IN' };
  await call(inbox.app, 'PUT', `${PG}/consents`, { consents: [consent] });
  expect(await consents(person)).toEqual(['marketing OPTED_IN API']);
  await inbox.write('no', { from: person });
  expect([(await find(body.optInId)).state, await consents(person)]).toEqual([
    'DECLINED',
    ['marketing OPTED_OUT STOP'],
  ]);
});

test('of many questions to a person at the same time, two are asked', async () => {
  const person = nextPerson();
  const answers = await Promise.all(Array.from({ length: 5 }, () => ask(person)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 409, 409, 409]);
});
