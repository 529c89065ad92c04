import { afterAll, beforeAll, expect, test } from 'vitest';
import { freeOver } from '../../test/support/drafts.ts';
import { openTestInbox, type TestInbox } from '../../test/support/http/inbox.ts';
import { buildApi } from '../api.ts';
import type { App } from '../core/http/app.ts';
import { many, sql } from '../core/db/query.ts';
import { createMetrics } from '../core/metrics.ts';
import { createWaker } from '../dispatch/pump.ts';
import { createAccept } from './accept.ts';
import { createPersonHash, insertErased } from './erased.ts';
import { createOptOutLink, createOptOutTokens } from './opt-out-links.ts';

const PUBLIC_URL = 'https://sms.example.com';
const PG = '/api/partner-gateway/v1';

let inbox: TestInbox;
let app: App;
let localApp: App;
let people = 0;
beforeAll(async () => {
  inbox = await openTestInbox();
  const { pool } = inbox.database;
  const { secretKey } = inbox.deps;
  const open = (hasPublicUrl: boolean): App => {
    const optOutLink = createOptOutLink({ publicUrl: PUBLIC_URL, hasPublicUrl }, secretKey);
    const tables = { ...freeOver(() => [1]), hashOfPerson: createPersonHash(secretKey), optOutLink };
    const waker = { ...createWaker(pool), wake: () => undefined };
    const metrics = createMetrics();
    return buildApi({
      ...inbox.deps,
      metrics,
      tables,
      accept: createAccept({ pool, tables, waker, recentMessages: null }),
    });
  };
  [app, localApp] = [open(true), open(false)];
});
afterAll(async () => {
  await app.close();
  await localApp.close();
  await inbox[Symbol.asyncDispose]();
});

const nextPerson = (): string => `+39333${7_000_000 + people++}`;
async function call(on: App, method: 'GET' | 'POST' | 'PUT', url: string, body?: object) {
  const isApi = !url.startsWith('/c/');
  const { statusCode, payload } = await on.inject({
    method,
    url,
    headers: {
      ...(isApi && { 'x-api-key': inbox.account.apiKey }),
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { payload: JSON.stringify(body) }),
  });
  return { status: statusCode, body: payload.startsWith('{') ? JSON.parse(payload) : payload };
}
const send = (phoneNumber: string, message = 'Sale! Stop: {{optout}}', on = app) =>
  call(on, 'POST', '/api/message-server/sms/send', { phoneNumber, senderName: 'ACME', message });
const textTo = async (phoneNumber: string): Promise<string> => {
  const rows = await many<{ body: string }>(
    inbox.database.pool,
    sql`SELECT body FROM message WHERE destination = ${phoneNumber} ORDER BY id DESC LIMIT 1`,
  );
  return rows[0]?.body ?? '';
};
const pageOf = async (phoneNumber: string): Promise<string> =>
  /\/c\/\w+\.[\w-]{22}$/.exec(await textTo(phoneNumber))?.[0] ?? '';
const consents = async (phoneNumber: string) =>
  (await call(inbox.app, 'GET', `${PG}/consents?to=${encodeURIComponent(phoneNumber)}`)).body;

test('the link of a text opts its recipient out, once, and only by its button', async () => {
  const person = nextPerson();
  expect((await send(person)).body.results[0].accepted).toBe(true);
  const page = await pageOf(person);
  expect(await textTo(person)).toBe(`Sale! Stop: ${PUBLIC_URL}${page}`);
  const shown = await call(app, 'GET', page);
  expect([shown.status, shown.body]).toEqual([200, expect.stringContaining('No more messages')]);
  expect(shown.body).not.toContain(person.slice(1));
  expect((await call(app, 'POST', `${page}?answer=yes`)).status).toBe(404);
  expect((await consents(person)).records).toEqual([]);

  const answers = await Promise.all([1, 2, 3].map(() => call(app, 'POST', `${page}?answer=no`)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await call(app, 'GET', page)).body).toContain('You will get no more SMS.');
  const { records, history } = await consents(person);
  expect(records).toMatchObject([
    {
      channel: 'SMS',
      purpose: '*',
      state: 'OPTED_OUT',
      source: 'PAGE',
      proof: { ip: '127.0.0.1', number: person, at: expect.any(String) },
    },
  ]);
  expect(history).toHaveLength(1);
  expect((await send(person)).body.results[0]).toMatchObject({
    accepted: false,
    reasons: ['the number has opted out of messages on this channel'],
  });
});

test('each recipient of a bulk send has a link, and none contains a number', async () => {
  const persons = [nextPerson(), nextPerson()];
  const message = { destinations: persons, sender: 'ACME', body: '{{ OptOut }}' };
  await call(app, 'POST', '/services/sms/send', { messages: [message] });
  const texts = await Promise.all(persons.map(textTo));
  expect(new Set(texts).size).toBe(2);
  const digits = texts.flatMap((text) => [text, Buffer.from(text.slice(-22), 'base64url').toString('latin1')]);
  for (const person of persons) expect(digits.join(' ')).not.toContain(person.slice(3));
  await call(app, 'POST', `${await pageOf(persons[0] ?? '')}?answer=no`);
  expect(await Promise.all(persons.map(async (person) => (await consents(person)).records.length))).toEqual([1, 0]);
});

test('a value of a placeholder is sent as it is, also one that reads like the link', async () => {
  const person = nextPerson();
  const placeholders = { name: '{{optout}}', optout: 'x' };
  const message = 'Hi {{name}}, stop: {{optout}}';
  const body = { phoneNumber: person, senderName: 'ACME', message, placeholders };
  await call(app, 'POST', '/api/message-server/sms/send', body);
  expect(await textTo(person)).toBe(`Hi {{optout}}, stop: ${PUBLIC_URL}${await pageOf(person)}`);
});

test('a campaign is tried out and previewed with the link only where its text has it', async () => {
  const person = nextPerson();
  const contact = { phoneNumber: person, firstName: '{{optout}}' };
  const { id: contactId } = (await call(app, 'POST', `${PG}/contacts`, contact)).body;
  const text = { sendingMode: 'SMS', smsSender: 'ACME', smsBody: 'Hi {{firstName}}, stop: {{optout}}' };
  await call(app, 'POST', `${PG}/campaigns/preview/send`, { ...text, phoneNumber: person, contactId });
  const sent = `Hi {{optout}}, stop: ${PUBLIC_URL}${await pageOf(person)}`;
  expect(await textTo(person)).toBe(sent);
  const { body } = await call(app, 'POST', `${PG}/campaigns/preview`, { ...text, destinations: [person] });
  expect(JSON.stringify(body)).toContain(sent);
});

test('a preview counts the link as it is sent', async () => {
  const person = nextPerson();
  const text = `${'a'.repeat(100)} {{optout}}`;
  const preview = { channel: 'SMS', text, sender: 'ACME' };
  const [unaddressed, addressed] = [
    (await call(app, 'POST', `${PG}/messages/preview`, preview)).body,
    (await call(app, 'POST', `${PG}/messages/preview`, { ...preview, destination: person })).body,
  ];
  await send(person, text);
  expect(addressed.text).toBe(await textTo(person));
  const length = 101 + `${PUBLIC_URL}${await pageOf(person)}`.length;
  expect([unaddressed.characters, addressed.characters]).toEqual([length, length]);
  expect((await call(app, 'GET', unaddressed.text.slice(101 + PUBLIC_URL.length))).status).toBe(404);
});

test('without a PUBLIC_URL the field with the placeholder is rejected', async () => {
  const person = nextPerson();
  expect(await send(person, undefined, localApp)).toMatchObject({
    status: 400,
    body: { details: [{ field: 'message', message: expect.stringContaining('PUBLIC_URL') }] },
  });
  const { problems } = (
    await call(localApp, 'POST', `${PG}/messages/preview`, { channel: 'SMS', text: '{{optout}}', sender: 'ACME' })
  ).body;
  expect(problems).toEqual([{ field: 'text', message: expect.stringContaining('PUBLIC_URL') }]);
  const campaign = {
    name: 'C',
    sendingMode: 'SMS',
    smsSender: 'ACME',
    smsBody: 'Bye {{optout}}',
    destinations: [person],
  };
  const { id } = (await call(localApp, 'POST', `${PG}/campaigns`, campaign)).body;
  expect(await call(localApp, 'POST', `${PG}/campaigns/${id}/calculateGoal`)).toMatchObject({
    status: 400,
    body: { details: [{ field: 'smsBody', message: expect.stringContaining('PUBLIC_URL') }] },
  });
});

test('a wrong token is not told apart from an unknown one, and cannot be tried without limit', async () => {
  const person = nextPerson();
  await send(person);
  const page = await pageOf(person);
  const { seal } = createOptOutTokens(inbox.deps.secretKey);
  const [account = '', token = ''] = page.slice(3).split('.');
  const other = seal({ accountId: 999, phoneNumber: person });
  const unknown = [
    'A'.repeat(22),
    `${token.slice(0, -1)}!`,
    `.${token}`,
    `x.${token}`,
    `rr.${other}`,
    `${account}.${other}`,
  ];
  const changed = Array.from({ length: 22 }, (_, at) => {
    return `${account}.${token.slice(0, at)}${token[at] === 'A' ? 'Q' : 'A'}${token.slice(at + 1)}`;
  });
  const answers = [];
  for (const end of [...unknown, ...changed])
    answers.push(await call(app, 'GET', `/c/${end}`), await call(app, 'POST', `/c/${end}?answer=no`));
  const seen = answers.map(({ status, body }) => JSON.stringify([status, body.message]));
  expect([...new Set(seen)]).toEqual([expect.stringContaining('404')]);
  expect((await consents(person)).records).toEqual([]);
  await Promise.all(Array.from({ length: 120 }, () => call(app, 'GET', `/c/${'B'.repeat(22)}`)));
  expect((await call(app, 'GET', page)).status).toBe(429);
});

test('nothing is written about a person who was erased', async () => {
  const person = nextPerson();
  await send(person);
  const page = await pageOf(person);
  const { accountId } = inbox.account;
  const hash = createPersonHash(inbox.deps.secretKey)({ accountId, phoneNumber: person });
  await insertErased(inbox.database.pool, [{ accountId, hash }]);
  const by = { 'accept-language': 'de', 'x-forwarded-for': '192.0.2.9' };
  const answer = await localApp.inject({ method: 'POST', url: `${page}?answer=no`, headers: by });
  expect([answer.statusCode, answer.payload]).toEqual([200, expect.stringContaining('Sie erhalten keine SMS mehr.')]);
  expect((await consents(person)).records).toEqual([]);
});

test('an address may open a few hundred pages a minute', async () => {
  const person = nextPerson();
  await send(person);
  const page = await pageOf(person);
  const statuses: number[] = [];
  for (let n = 0; n <= 300; n++) statuses.push((await call(localApp, 'GET', page)).status);
  expect(statuses[0]).toBe(200);
  expect([...new Set(statuses)]).toEqual([200, 429]);
});
