import { operatorAuthor } from '../../src/accounts/audit.ts';
import { setRate } from '../../src/accounts/security.ts';
import { transaction } from '../../src/core/db/transaction.ts';
import { isRecord } from '../../src/core/schema.ts';
import { insertNumber } from '../../src/messages/inbound-store.ts';
import { TEST_CERT, TEST_KEY } from '../../test/support/http/certificate.ts';
import { freePort } from '../../test/support/http/free-port.ts';
import { type Received, type Receiver, startReceiver } from '../../test/support/http/receiver.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { listTaken } from '../../test/support/taken.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

// What programs with Twilio's SDK ask of the bridge, and what the SDK reads in its answers, as seen with twilio-node 6.2.0.

const ACCOUNT_SID = 'AC00000000000000000000000000000001';
const SERVICE = 'MG00000000000000000000000000000001';
const AUTH_TOKEN = 'the-auth-token';
const MESSAGES = `/2010-04-01/Accounts/${ACCOUNT_SID}/Messages`;
const PERSON = '+393331234567';

let program: TestProgram;
/** The program that was written for Twilio. */
let old: Receiver;
let environment: Record<string, string>;
let bridge: ChildProcess;
let log = '';

beforeAll(async () => {
  const folder = await temporaryFolder('heliograph-test-bridge-');
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await writeFile(cert, TEST_CERT);
  await writeFile(key, TEST_KEY);
  const port = await freePort();
  old = await startReceiver();
  program = await startTestProgram({
    environment: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8,::1/128', WEBHOOK_PORTS: String(port), WEBHOOK_CA_FILE: cert },
  });
  const { accountId, apiKey } = program.account;
  await insertNumber(program.pool, { connectionId: 1, number: '*', accountId });
  const registered = await program.client.request('POST', '/api/partner-gateway/v1/webhooks/delivery-status', {
    body: { callbackUrl: `https://localhost:${port}/` },
  });
  const secret = isRecord(registered.body) ? String(registered.body['secret']) : '';
  environment = {
    GATEWAY: program.origin(),
    API_KEY: apiKey,
    WEBHOOK_SECRET: secret,
    ACCOUNT_SID,
    AUTH_TOKEN,
    INBOUND_URL: `${old.url}/sms`,
    SERVICES: `${SERVICE}=ACME`,
    PORT: String(port),
    TLS_CERT: cert,
    TLS_KEY: key,
    NODE_EXTRA_CA_CERTS: cert,
  };
  await startBridge();
});
afterAll(async () => {
  bridge.kill();
  await program[Symbol.asyncDispose]();
  await old[Symbol.asyncDispose]();
});

async function startBridge(): Promise<void> {
  bridge = spawn(process.execPath, [join(import.meta.dirname, 'twilio-bridge.mjs')], { env: environment });
  log = '';
  for (const stream of [bridge.stdout, bridge.stderr]) stream?.on('data', (bytes: Buffer) => (log += bytes.toString()));
  await until('the bridge', () => log.includes('listening'));
}

type Answer = {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly json: Record<string, unknown>;
};

/** Asks the bridge as the SDK does: a form, Basic, and JSON back. */
async function ask(
  method: string,
  path: string,
  fields: Record<string, string> = {},
  user = `${ACCOUNT_SID}:${AUTH_TOKEN}`,
): Promise<Answer> {
  const asked = request({
    method,
    path,
    port: environment['PORT'],
    host: 'localhost',
    ca: TEST_CERT,
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      Authorization: `Basic ${Buffer.from(user).toString('base64')}`,
    },
  });
  asked.end(method === 'POST' ? new URLSearchParams(fields).toString() : undefined);
  const [answer] = await once(asked, 'response');
  const json: unknown = JSON.parse(Buffer.concat(await answer.toArray()).toString());
  if (!isRecord(json)) throw new Error('expected an object');
  return { status: answer.statusCode, headers: answer.headers, json };
}

const HELLO = { To: PERSON, From: 'ACME', Body: 'Hello' };
const create = (fields: Record<string, string>) => ask('POST', `${MESSAGES}.json`, fields);
const textsTo = (number: string) =>
  listTaken(program.smsc).flatMap(({ destination, text }) => (`+${destination}` === number ? [text] : []));

/** Checks Twilio's signature as its documentation describes it. */
function isSigned({ headers, body }: Received, url: string): boolean {
  const pairs = [...new URLSearchParams(body)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const signature = createHmac('sha1', AUTH_TOKEN).update(`${url}${pairs.flat().join('')}`);
  return signature.digest('base64') === headers['x-twilio-signature'];
}
const fieldsOf = ({ body }: Received) => Object.fromEntries(new URLSearchParams(body));
const postedTo = (path: string) => old.requests.filter((posted) => posted.path === path);

test('a message is sent, and its answer has what the SDK reads', async () => {
  const body = 'Ünï ½ 日本 & + = {{name}}';
  const { status, json } = await create({
    To: '+393331230001',
    From: 'ACME',
    Body: body,
    MaxPrice: '1',
    ShortenUrls: 'false',
  });
  expect(status).toBe(201);
  expect(json).toEqual({
    sid: expect.stringMatching(/^SM[\da-f]{32}$/),
    account_sid: ACCOUNT_SID,
    messaging_service_sid: null,
    to: '+393331230001',
    from: 'ACME',
    body,
    status: 'queued',
    direction: 'outbound-api',
    num_segments: '1',
    num_media: '0',
    error_code: null,
    error_message: null,
    price: null,
    price_unit: null,
    date_created: expect.stringMatching(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000$/),
    date_sent: null,
    date_updated: json['date_created'],
    api_version: '2010-04-01',
    uri: `${MESSAGES}/${json['sid']}.json`,
    subresource_uris: { media: `${MESSAGES}/${json['sid']}/Media.json` },
  });
  await until('the message', () => textsTo('+393331230001').includes(body));
});

test('a messaging service is the sender that the bridge has for it', async () => {
  const { json } = await create({ To: '+393331230002', MessagingServiceSid: SERVICE, Body: 'Hello' });
  expect(json).toMatchObject({ from: null, messaging_service_sid: SERVICE });
  await until('the message', () => textsTo('+393331230002').length === 1);
  expect(listTaken(program.smsc).find(({ destination }) => destination === '393331230002')).toMatchObject({
    source: 'ACME',
  });
});

const soon = (ms: number) => new Date(Date.now() + ms).toISOString();

test.each<[string, Record<string, string>, number]>([
  ['no number', { ...HELLO, To: '' }, 21_604],
  ['no number at all', { ...HELLO, To: 'abc' }, 21_211],
  ['a number that is too short', { ...HELLO, To: '+3933' }, 21_211],
  ['a country that does not exist', { ...HELLO, To: '+999123456789' }, 21_211],
  ['no sender', { To: PERSON, Body: 'Hello' }, 21_603],
  ['a sender that is too long', { ...HELLO, From: 'ACMEACMEACME' }, 21_212],
  ['an unknown service', { ...HELLO, From: '', MessagingServiceSid: SERVICE.replace('1', '2') }, 21_701],
  ['no text', { ...HELLO, Body: '' }, 21_602],
  ['a text that is too long', { ...HELLO, Body: 'a'.repeat(1600) }, 21_617],
  ['media', { ...HELLO, MediaUrl: 'https://example.com/a.png' }, 20_001],
  ['a template', { To: PERSON, From: 'ACME', ContentSid: 'HX1' }, 20_001],
  ['short links', { ...HELLO, ShortenUrls: 'true' }, 20_001],
  ['no record of the text', { ...HELLO, ContentRetention: 'discard' }, 20_001],
  ['another channel', { ...HELLO, To: `whatsapp:${PERSON}` }, 63_007],
  ['a callback that is no URL', { ...HELLO, StatusCallback: 'status' }, 21_609],
  ['a callback that is too long', { ...HELLO, StatusCallback: `https://example.com/${'a'.repeat(160)}` }, 21_609],
  ['a schedule without a time', { ...HELLO, ScheduleType: 'fixed' }, 35_111],
  ['a time in the past', { ...HELLO, ScheduleType: 'fixed', SendAt: soon(-60_000) }, 35_114],
  ['no validity', { ...HELLO, ValidityPeriod: '-5' }, 20_001],
])('%s is refused with an error of Twilio, and nothing is sent', async (_, fields, code) => {
  const before = listTaken(program.smsc).length;
  const { status, json } = await create(fields);
  expect({ status, json }).toEqual({
    status: 400,
    json: {
      code,
      status: 400,
      message: expect.stringMatching(/./),
      more_info: `https://www.twilio.com/docs/errors/${code}`,
    },
  });
  expect(listTaken(program.smsc)).toHaveLength(before);
});

test.each([
  ['DELETE', `${MESSAGES}/SM${'0'.repeat(32)}.json`, 405, 20_004],
  ['GET', `${MESSAGES}/SM${'0'.repeat(32)}.json`, 404, 20_404],
  ['GET', `${MESSAGES}/SM${'0'.repeat(32)}/Media.json`, 404, 20_404],
  ['POST', `/2010-04-01/Accounts/${ACCOUNT_SID}/Calls.json`, 404, 20_404],
  ['POST', '/v2/Services/VA1/Verifications', 404, 20_404],
  ['GET', `${MESSAGES}.json?Page=3`, 400, 20_001],
])('%s %s is refused with an error of Twilio', async (method, path, status, code) => {
  expect(await ask(method, path)).toMatchObject({ status, json: { code, status } });
});

test('only the account with its token is answered, or an API key with the same secret', async () => {
  const as = (user: string) => ask('POST', `${MESSAGES}.json`, HELLO, user);
  const refused = { status: 401, json: { code: 20_003, message: 'Authenticate', status: 401 } };
  expect(await as(`${ACCOUNT_SID}:another`)).toMatchObject(refused);
  expect(await as(`AC1:${AUTH_TOKEN}`)).toMatchObject(refused);
  expect(await ask('GET', `${MESSAGES}.json`, {}, ':')).toMatchObject(refused);
  expect(await as(`SK00000000000000000000000000000001:${AUTH_TOKEN}`)).toMatchObject({ status: 201 });
});

test('messages are found, listed page by page, and cancelled while they wait', async () => {
  const number = '+393331230003';
  const later = { To: number, From: 'ACME', ScheduleType: 'fixed', SendAt: soon(3_600_000) };
  for (const Body of ['One', 'Two', 'Three']) expect(await create({ ...later, Body })).toMatchObject({ status: 201 });
  const pages: unknown[] = [];
  let path: unknown = `${MESSAGES}.json?${new URLSearchParams({ To: number, PageSize: '2' })}`;
  while (typeof path === 'string') {
    const { json } = await ask('GET', path);
    pages.push(json['messages']);
    path = json['next_page_uri'];
  }
  const found = pages.flat().filter(isRecord);
  expect(found.map(({ body, status }) => [body, status])).toEqual(
    ['Three', 'Two', 'One'].map((text) => [text, 'scheduled']),
  );
  const one = `${MESSAGES}/${found[0]?.['sid']}.json`;
  expect((await ask('GET', one)).json).toEqual(found[0]);
  expect(await ask('POST', one, { Body: '' })).toMatchObject({ status: 400, json: { code: 20_001 } });
  expect(await ask('POST', one, { Status: 'canceled' })).toMatchObject({ status: 200, json: { status: 'canceled' } });
  expect(await ask('POST', one, { Status: 'canceled' })).toMatchObject({ status: 400, json: { code: 30_409 } });
});

test('statuses arrive signed, with all of the URL, also after a restart of the bridge', async () => {
  const url = `${old.url}/status?order=17&name=a%20b`;
  const { json } = await create({
    ...HELLO,
    StatusCallback: `${url.replace('//', '//user:pass@')}#rc=2`,
    SendAt: soon(2500),
  });
  bridge.kill();
  await once(bridge, 'exit');
  await startBridge();
  const [, last] = await until('both statuses', () => {
    const posted = postedTo('/status?order=17&name=a%20b');
    return posted.length >= 2 && posted;
  });
  expect(last && fieldsOf(last)).toEqual({
    MessageSid: json['sid'],
    SmsSid: json['sid'],
    AccountSid: ACCOUNT_SID,
    ApiVersion: '2010-04-01',
    From: 'ACME',
    To: PERSON,
    MessageStatus: 'delivered',
    SmsStatus: 'delivered',
  });
  expect(last && isSigned(last, url.replace('//', '//user:pass@'))).toBe(true);
  expect(last?.headers['authorization']).toBe(`Basic ${Buffer.from('user:pass').toString('base64')}`);
});

const twiml = (body: string) => ({ headers: { 'Content-Type': 'text/xml' }, body: `<?xml version="1.0"?>${body}` });
const write = (source: string, text: string) =>
  program.smsc.injectMo({ source: source.slice(1), destination: '393399957021', text });

test('an inbound message is signed, and the TwiML that answers it is sent once', async () => {
  const person = '+393331230004';
  old.answer(({ path }) =>
    path === '/sms'
      ? twiml(
          '<Response><!-- thanks --><Message>Thanks &amp; &quot;bye&quot; &#189;</Message><Redirect>/next</Redirect>' +
            '<Message><Body>With media</Body><Media>https://example.com/a.png</Media></Message>' +
            `<Message to="+393331230005" statusCallback="${old.url}/reply"><Body>Second</Body></Message></Response>`,
        )
      : {},
  );
  await write(person, 'Olá');
  await until('the second reply', () => postedTo('/reply').length === 2);
  expect(textsTo(person)).toEqual(['Thanks & "bye" ½']);
  expect(textsTo('+393331230005')).toEqual(['Second']);
  expect(log).toContain('the bridge cannot do this TwiML: <Redirect>');
  expect(log).toContain('the bridge cannot do this TwiML: <Message><Body>With media</Body>');
  const [posted] = postedTo('/sms');
  expect(posted && isSigned(posted, `${old.url}/sms`)).toBe(true);
  expect(posted && fieldsOf(posted)).toMatchObject({
    AccountSid: ACCOUNT_SID,
    From: person,
    To: '+393399957021',
    Body: 'Olá',
    NumMedia: '0',
    SmsStatus: 'received',
    MessageSid: expect.stringMatching(/^SM[\da-f]{32}$/),
  });
});

test('a program that takes longer than Heliograph waits gets the message once, and its plain text is sent', async () => {
  const person = '+393331230006';
  old.answer({ headers: { 'Content-Type': 'text/plain' }, body: 'Slow answer', delayMs: 6500 });
  const before = postedTo('/sms').length;
  await write(person, 'Are you there?');
  await until('the reply', () => textsTo(person).length > 0);
  await until('the end of the event', async () => {
    const { body } = await program.client.request(
      'GET',
      '/api/partner-gateway/v1/webhooks/delivery-status/deliveries?eventType=INBOUND&limit=1',
    );
    return JSON.stringify(body).includes('"status":"DELIVERED"');
  });
  expect(textsTo(person)).toEqual(['Slow answer']);
  expect(postedTo('/sms')).toHaveLength(before + 1);
  old.answer({});
});

test('an event that Heliograph has not signed is not passed on', async () => {
  const before = old.requests.length;
  const body = JSON.stringify({ eventType: 'INBOUND', channel: 'SMS', source: PERSON, destination: '1', text: 'x' });
  const asked = request({
    method: 'POST',
    path: '/',
    port: environment['PORT'],
    host: 'localhost',
    ca: TEST_CERT,
    headers: {
      'webhook-id': 'x',
      'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      'webhook-signature': 'v1,x',
    },
  });
  asked.end(body);
  const [answer] = await once(asked, 'response');
  expect(answer.statusCode).toBe(401);
  expect(old.requests).toHaveLength(before);
});

test('who opted out, and who asks too often, hears so in the codes of Twilio', async () => {
  const person = '+393331230007';
  await write(person, 'STOP');
  await until('the opt-out', async () => (await create({ ...HELLO, To: person })).json['code'] === 21_610);
  const author = operatorAuthor(program.account.accountId);
  await transaction(program.pool, (tx) => setRate(tx, author, { perMinute: 1, perSecond: 1 }));
  const { headers } = await until('the limit', async () => {
    const answer = await create(HELLO);
    return answer.status === 429 && answer;
  });
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
});
