import { Value } from 'typebox/value';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { moveAccountStatus } from '../../src/accounts/accounts.ts';
import { KeyIssued } from '../../src/accounts/api-key-routes.ts';
import { type Answer, BULK, type Client, type RequestOptions, SEND, STATUS } from '../support/client.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';

const KEYS = '/api/partner-gateway/v1/authentication';
const UUID = /^[0-9a-f-]{36}$/;

let program: TestProgram;
let before: Record<string, number>;
beforeAll(async () => {
  program = await startTestProgram();
});
afterAll(() => program[Symbol.asyncDispose]());

/** Tables that the program itself writes to at any time: reports of workers, and alerts, which watch the machine. */
const BACKGROUND = [
  'worker_process',
  'connection_status',
  'connection_down',
  'connection_error',
  'connection_minute',
  'alert',
  'alert_evaluation',
  'alert_notice',
];

/** Counts the rows of every table that only requests change, and what the carrier has seen. */
async function footprint(): Promise<Record<string, number>> {
  const { rows } = await program.pool.query(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
       AND relname <> ALL ($1)`,
    [BACKGROUND],
  );
  const counts = rows.map(({ name }) => `SELECT '${name}' AS name, count(*)::int AS count FROM ${name}`);
  const found = await program.pool.query(counts.join(' UNION ALL '));
  const { submits } = program.smsc.ledger.counts();
  return { submits, ...Object.fromEntries(found.rows.map(({ name, count }) => [name, count])) };
}

beforeEach(async () => {
  before = await footprint();
});
afterEach(async () => {
  expect(await footprint(), 'what is stored and sent').toEqual(before);
});

/** A key was created and revoked: only the audit log keeps both. */
const auditedTwice = (): void => {
  before = { ...before, audit_entry: (before['audit_entry'] ?? 0) + 2 };
};

/** Expects the standard error form with exactly these invalid fields. */
function expectError({ status, headers, body }: Answer, wanted: number, fields: readonly string[] = []): void {
  expect(status).toBe(wanted);
  expect(headers.get('x-request-id')).toMatch(UUID);
  expect(headers.get('content-type')).toContain('application/json');
  const details = expect.arrayContaining(fields.map((field) => ({ field, message: expect.any(String) })));
  expect(body).toEqual({
    status: wanted,
    error: expect.any(String),
    message: expect.any(String),
    requestId: headers.get('x-request-id'),
    ...(fields.length > 0 && { details }),
  });
  if (fields.length > 0) expect(body).toHaveProperty('details.length', fields.length);
}

/** Expects the error form of the wholesale API, whose message names these fields. */
function expectWholesaleError({ status, headers, body }: Answer, wanted: number, fields: readonly string[] = []): void {
  expect(status).toBe(wanted);
  expect(headers.get('x-request-id')).toMatch(UUID);
  expect(body).toEqual({
    status: 'error',
    message: expect.any(String),
    code: wanted,
    requestId: headers.get('x-request-id'),
  });
  for (const field of fields) expect(body).toHaveProperty('message', expect.stringContaining(field));
}

const post = (path: string, body: unknown, headers: RequestOptions['headers'] = {}) =>
  program.client.request('POST', path, { body, headers });

const good = { phoneNumber: '+393331234567', message: 'Hello' };
const goodOther = { destination: '+393331234567', sender: 'Acme', body: 'Hello' };

/** Name, body (a string is sent as it is), and the invalid fields. */
type Row = readonly [name: string, body: unknown, fields: readonly string[]];

describe('a single send', () => {
  const ROWS: readonly Row[] = [
    ['malformed JSON', '{"phoneNumber": "+39', []],
    ['JSON followed by something else', `${JSON.stringify(good)}]`, []],
    ['a key __proto__', `{"phoneNumber":"+393331234567","message":"x","__proto__":{"simulation":true}}`, []],
    [
      'a key constructor.prototype',
      `{"phoneNumber":"+393331234567","message":"x","constructor":{"prototype":{"a":1}}}`,
      [],
    ],
    [
      'a doubled key whose last value is wrong',
      `{"phoneNumber":"+393331234567","message":"x","phoneNumber":"abc"}`,
      ['phoneNumber'],
    ],
    ['an empty body', '', ['body']],
    ['null', 'null', ['body']],
    ['a list', [good], ['body']],
    ['a text', '"+393331234567"', ['body']],
    ['a number', '12', ['body']],
    ['no fields', {}, ['phoneNumber', 'message']],
    ['a missing text', { phoneNumber: good.phoneNumber }, ['message']],
    ['a missing number', { message: 'x', senderName: 'Acme' }, ['phoneNumber']],
    [
      'wrong types everywhere',
      { phoneNumber: 393331234567, message: ['x'], senderName: 7, customerMessageId: 5, simulation: 'true' },
      ['phoneNumber', 'message', 'senderName', 'customerMessageId', 'simulation'],
    ],
    ['null for a field that is required', { ...good, senderName: null, message: null }, ['message']],
    ['letters for a number', { ...good, phoneNumber: 'call me' }, ['phoneNumber']],
    ['a number without country', { ...good, phoneNumber: '+0331234567' }, ['phoneNumber']],
    ['a number of 16 digits', { ...good, phoneNumber: '+3933312345678901' }, ['phoneNumber']],
    ['a number of 6 digits', { ...good, phoneNumber: '+393331' }, ['phoneNumber']],
    ['letters in a number', { ...good, phoneNumber: '+39 333 CALLME' }, ['phoneNumber']],
    ['signs instead of a number', { ...good, phoneNumber: '+++ €€€' }, ['phoneNumber']],
    ['a sender of 12 letters', { ...good, senderName: 'Heliographic' }, ['senderName']],
    ['a sender of 17 digits', { ...good, senderName: '12345678901234567' }, ['senderName']],
    ['an empty sender', { ...good, senderName: '' }, ['senderName']],
    ['a sender with an accent', { ...good, senderName: 'Caffè' }, ['senderName']],
    ['a sender with a control character', { ...good, senderName: 'Ac\tme' }, ['senderName']],
    ['an empty text', { ...good, message: '' }, ['message']],
    ['a text of 1,531 characters', { ...good, message: 'x'.repeat(1531) }, ['message']],
    ['a text of 671 characters in UCS-2', { ...good, message: 'ж'.repeat(671) }, ['message']],
    ['a text of 1,530 characters that count twice', { ...good, message: '€'.repeat(1530) }, ['message']],
    ['NUL in the text', { ...good, message: 'a\0b' }, ['body']],
    ['NUL in an unknown field', { ...good, extra: { deep: ['\0'] } }, ['body']],
    ['a lone surrogate', `{"phoneNumber":"+393331234567","message":"a\\ud83d"}`, ['body']],
    ['a client id of 256 characters', { ...good, customerMessageId: 'x'.repeat(256) }, ['customerMessageId']],
    ['an empty client id', { ...good, customerMessageId: '' }, ['customerMessageId']],
    ['the two forms mixed, the number of one', { phoneNumber: '+393331234567', body: 'Hello' }, ['message']],
    ['the two forms mixed, one of them wrong', { ...goodOther, phoneNumber: 5 }, ['phoneNumber']],
    [
      'two faults that the schema does not find',
      { ...goodOther, udhData: 'ff', customerMessageId: 'a', messageId: 'b', scheduledDate: 'now' },
      ['messageId', 'udhData', 'scheduledDate'],
    ],
    [
      "the message server's number and sender wrong",
      { ...goodOther, destination: 'x', sender: '' },
      ['destination', 'sender'],
    ],
    ["no sender in the message server's form", { destination: '+393331234567', body: 'Hello' }, ['sender']],
    ['an invalid date', { ...goodOther, scheduledDate: 'tomorrow' }, ['scheduledDate']],
    ['a day that does not exist', { ...goodOther, scheduledDate: '2027-02-30 09:00:00.000+0100' }, ['scheduledDate']],
    ['a date without an offset', { ...goodOther, scheduledDate: '2027-01-31 09:00:00.000' }, ['scheduledDate']],
    ['a date in the past', { ...goodOther, scheduledDate: '2020-01-31 09:00:00.000+0100' }, ['scheduledDate']],
    ['a validity of 0 minutes', { ...goodOther, validityPeriod: 0 }, ['validityPeriod']],
    ['a validity as a text', { ...goodOther, validityPeriod: '10' }, ['validityPeriod']],
    ['a validity in fractions', { ...goodOther, validityPeriod: 1.5 }, ['validityPeriod']],
    ['a header that is not hex', { ...goodOther, udhData: 'xyz' }, ['udhData']],
    ['half a byte', { ...goodOther, udhData: '050' }, ['udhData']],
    ['a header with a wrong length', { ...goodOther, udhData: '0300' }, ['udhData']],
    ['a header with an element that is too long', { ...goodOther, udhData: '0500040102ff' }, ['udhData']],
    ['a header for part 3 of 2', { ...goodOther, udhData: '050003010203' }, ['udhData']],
    [
      'a text that does not fit next to its header',
      { ...goodOther, udhData: '050003010201', body: 'x'.repeat(154) },
      ['body'],
    ],
    ['two senders', { ...good, senderName: 'Acme', sender: 'Other' }, ['sender']],
    ['a sender that is too long under its other name', { ...good, sender: 'ThisSenderIsWayTooLong' }, ['sender']],
    ['a national number', { ...good, phoneNumber: '3331234567' }, ['phoneNumber']],
    ['a placeholder that is not a text', { ...goodOther, placeholders: { name: 5 } }, ['placeholders.name']],
    [
      'placeholders that extend the text beyond its limit',
      { ...goodOther, body: '{{a}}'.repeat(4), placeholders: { a: 'x'.repeat(500) } },
      ['body'],
    ],
    [
      'a text that is empty after replacing placeholders',
      { ...goodOther, body: '{{a}}', placeholders: { a: '' } },
      ['body'],
    ],
  ];

  test.each(ROWS)('with %s is refused, and the response names what is wrong', async (_name, body, fields) => {
    expectError(await post(SEND, body), 400, fields);
  });

  test('with bytes that are not UTF-8 is refused', async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"phoneNumber":"+393331234567","message":"'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ]);
    expectError(await program.client.request('POST', SEND, { bytes }), 400);
  });

  test('to a number of no country is rejected', async () => {
    const answer = await program.client.send({ ...good, phoneNumber: '+999331234567' });
    expect(answer).toMatchObject({
      messageId: null,
      results: [{ accepted: false, statusCode: 400, reasons: [expect.any(String)] }],
    });
  });

  test('of more than 1 MiB is too large', async () => {
    expectError(await post(SEND, { ...good, extra: 'x'.repeat(1024 * 1024) }), 413);
  });
});

describe('a bulk send', () => {
  const message = { destinations: ['+393331234567'], sender: 'Acme', body: 'Hello' };
  const ROWS: readonly Row[] = [
    ['malformed JSON', '{"messages": [', []],
    ['a key __proto__', '{"messages":[],"__proto__":{}}', []],
    ['an empty body', '', ['body']],
    ['a list', [message], ['body']],
    ['no messages', {}, ['messages']],
    ['an empty list', { messages: [] }, ['messages']],
    ['a list of texts', { messages: ['Hello'] }, ['messages[0]']],
    ['nothing in a message', { messages: [{}] }, ['messages[0].destinations', 'messages[0].sender']],
    ['no destinations', { messages: [{ ...message, destinations: [] }] }, ['messages[0].destinations']],
    [
      'a number as a destination',
      { messages: [{ ...message, destinations: [393331234567] }] },
      ['messages[0].destinations[0]'],
    ],
    [
      'faults in several messages',
      { messages: [message, { ...message, sender: 'far too long a sender' }, { ...message, body: 5 }] },
      ['messages[1].sender', 'messages[2].body'],
    ],
    [
      'wrong types of the options',
      { messages: [message], simulation: 'yes', enableUnicode: 1 },
      ['simulation', 'enableUnicode'],
    ],
    ['ids that are fewer than destinations', { messages: [{ ...message, ids: [] }] }, ['messages[0].ids']],
    ['ids that are more', { messages: [{ ...message, ids: ['a', 'b'] }] }, ['messages[0].ids']],
    ['neither text nor binary data', { messages: [{ ...message, body: undefined }] }, ['messages[0].body']],
    ['binary data that is not hex', { messages: [{ ...message, hexBody: 'hello' }] }, ['messages[0].hexBody']],
    ['an invalid date', { messages: [{ ...message, scheduling: 'soon' }] }, ['messages[0].scheduling']],
    [
      'several faults that the schema does not find',
      {
        messages: [
          { ...message, ids: [] },
          { ...message, body: undefined },
          { ...message, scheduling: 'soon' },
        ],
      },
      ['messages[0].ids', 'messages[1].body', 'messages[2].scheduling'],
    ],
    ['NUL in a text', { messages: [{ ...message, body: '\0' }] }, ['U+0000']],
  ];

  test.each(ROWS)('with %s is refused as a whole, in the error form of that API', async (_name, body, fields) => {
    expectWholesaleError(await post(BULK, body), 400, fields);
  });

  test('to 10,001 destinations is too large', async () => {
    const destinations = Array.from({ length: 10_001 }, (_, i) => `+39333${String(i).padStart(6, '0')}`);
    expectWholesaleError(await post(BULK, { messages: [{ ...message, destinations }] }), 413);
  });

  test('of more than 16 MiB is too large', async () => {
    expectWholesaleError(await post(BULK, { messages: [message], extra: 'x'.repeat(16 * 1024 * 1024) }), 413);
  });
});

describe('credentials', () => {
  const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
  const ROWS: readonly (readonly [name: string, headers: () => Record<string, string>])[] = [
    ['none', () => ({})],
    ['an invalid key', () => ({ 'x-api-key': 'secret' })],
    ['an unknown key', () => ({ 'x-api-key': `pg_live_${'A'.repeat(43)}` })],
    ['a key with one changed letter', () => ({ 'x-api-key': `${program.account.apiKey.slice(0, -1)}_` })],
    ['a wrong password', () => basic(`${program.account.username}:wrong`)],
    ['an unknown user', () => basic('nobody:secret')],
    ['a user without a colon', () => basic(program.account.username)],
    ['a NUL in the name', () => basic('a\0b:secret')],
    ['not Base64', () => ({ authorization: 'Basic %%%' })],
    ['another scheme', () => ({ authorization: `Bearer ${program.account.apiKey}` })],
    [
      'a wrong key together with a right password',
      () => ({ 'x-api-key': 'x', ...basic(`${program.account.username}:${program.account.password}`) }),
    ],
  ];

  test.each(ROWS)('with %s every response is 401 with a challenge', async (_name, headers) => {
    const otherClient = program.clientOf('');
    const send = await otherClient.request('POST', SEND, { body: good, headers: headers() });
    expectError(send, 401);
    expect(send.headers.get('www-authenticate')).toContain('Basic');
    expectWholesaleError(await otherClient.request('POST', BULK, { body: { messages: [] }, headers: headers() }), 401);
    expectError(await otherClient.request('GET', `${STATUS}/any`, { headers: headers() }), 401);
  });

  async function newKey(options: object): Promise<{ id: number; client: Client }> {
    const { body } = await post(KEYS, options);
    Value.Assert(KeyIssued, body);
    return { id: body.id, client: program.clientOf(body.apiKey) };
  }

  test('that are revoked are refused from the next request on', async () => {
    const { id, client } = await newKey({ name: 'short-lived' });
    expect((await client.request('GET', `${STATUS}?ids=a`)).status).toBe(200);
    expect((await program.client.request('DELETE', `${KEYS}/${id}`)).status).toBe(204);
    expectError(await client.request('POST', SEND, { body: good }), 401);
    auditedTwice();
  });

  test('without the scope of a route get 403 there', async () => {
    const { id, client } = await newKey({ operations: ['tracking'] });
    expectError(await client.request('POST', SEND, { body: good }), 403);
    expectWholesaleError(await client.request('POST', BULK, { body: { messages: [] } }), 403);
    expect((await client.request('GET', `${STATUS}?ids=a`)).status).toBe(200);
    await program.client.request('DELETE', `${KEYS}/${id}`);
    auditedTwice();
  });

  test('of a suspended account get 403 until it is resumed', async () => {
    const { accountId } = program.account;
    await moveAccountStatus(program.pool, { accountId, from: 'active', to: 'suspended' });
    expectError(await post(SEND, good), 403);
    await moveAccountStatus(program.pool, { accountId, from: 'suspended', to: 'active' });
    expect((await program.client.request('GET', `${STATUS}?ids=a`)).status).toBe(200);
  });
});

describe('a request', () => {
  const request = (method: string, path: string, options?: RequestOptions) =>
    program.client.request(method, path, options);

  test.each([
    ['GET', '/nowhere'],
    ['POST', '/api/message-server/sms/sendx'],
    ['GET', '/api/partner-gateway/v1'],
    ['GET', '/api/partner-gateway/v10/messages/status/x'],
    ['GET', `${STATUS}/${'x'.repeat(1500)}`],
    ['GET', `${STATUS}/no-such-message`],
    ['GET', '/api/messages/status/no-such-message'],
    ['GET', '/../../etc/passwd'],
  ])('%s %s is not found', async (method, path) => {
    expectError(await request(method, path), 404);
  });

  test.each([
    ['GET', SEND, 'POST'],
    ['DELETE', SEND, 'POST'],
    ['POST', `${STATUS}/x`, 'GET, HEAD'],
    ['PUT', '/health/live', 'GET, HEAD'],
  ])('%s %s has the wrong method, and the response names the right one', async (method, path, allow) => {
    const answer = await request(method, path);
    expectError(answer, 405);
    expect(answer.headers.get('allow')).toBe(allow);
  });

  test('to an unknown path of the wholesale API gets a response in its error form', async () => {
    expectWholesaleError(await request('POST', '/services/nowhere'), 404);
    expectWholesaleError(await request('PUT', BULK), 405);
    expectWholesaleError(await request('POST', '/api/services/nowhere'), 404);
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/xml',
  ])('of type %s is not read', async (type) => {
    const [body, headers] = [JSON.stringify(good), { 'content-type': type }];
    expectError(await post(SEND, body, headers), 415);
    expectWholesaleError(await post(BULK, body, headers), 415);
  });

  test.each([
    ['more than 1,000 ids', `${STATUS}?ids=${Array(1001).fill('x').join(',')}`, ['ids']],
    ['no ids', STATUS, ['customerMessageIds']],
    ['empty ids', `${STATUS}?ids=,%20,`, ['customerMessageIds']],
    ['an unknown channel', `${STATUS}/x?channel=FAX`, ['channel']],
    ['NUL in the path', `${STATUS}/a%00b`, ['url']],
    ['an invalid escape', `${STATUS}/%zz`, []],
    ['bytes that are not UTF-8', `${STATUS}/%ff`, []],
  ])('for a status with %s is refused', async (_name, path, fields) => {
    expectError(await request('GET', path), 400, fields);
  });
});
