import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatScheduledDate } from '../../src/core/time.ts';
import { BULK, SEND, STATUS } from '../support/client.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { listTaken } from '../support/taken.ts';
import { until } from '../support/until.ts';

let program: TestProgram;
beforeAll(async () => {
  // Late enough for a test to see the state before it.
  program = await startTestProgram({ carriers: { main: { script: { receiptDelayMs: 300 } } } });
});
afterAll(() => program[Symbol.asyncDispose]());

const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const takenTo = (number: string) => listTaken(program.smsc).filter(({ destination }) => destination === number);
const basic = (name: string, password: string) => `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;

describe('a single send', () => {
  test('in the short form reaches the carrier, and is ACCEPTED and then DELIVERED with its date', async () => {
    const { client } = program;
    const before = Date.now();
    const sent = await client.send({ phoneNumber: '+393331234567', message: 'Hello', senderName: 'Acme' });
    expect(sent).toEqual({
      messageId: expect.stringMatching(UUID7),
      customerMessageId: null,
      simulation: false,
      results: [{ phoneNumber: '+393331234567', accepted: true, channel: 'SMS', statusCode: 200, reasons: [] }],
    });
    const id = sent.messageId ?? '';
    expect(await client.status(id)).toMatchObject({
      deliveryStatus: 'ACCEPTED',
      deliveryStatusCode: 1,
      deliveryDate: null,
    });
    const delivered = await client.untilStatus(id, 'DELIVERED');
    expect(delivered).toMatchObject({
      messageId: id,
      channel: 'SMS',
      destination: '+393331234567',
      sender: 'Acme',
      deliveryStatusCode: 3,
      deliveryStatusDescription: 'delivered',
      parts: 1,
      errorCode: null,
    });
    const [sendDate, deliveryDate] = [delivered.sendDate, delivered.deliveryDate ?? ''].map((date) => Date.parse(date));
    expect(sendDate).toBeGreaterThanOrEqual(before);
    expect(deliveryDate).toBeGreaterThanOrEqual(sendDate ?? Number.NaN);
    expect(takenTo('393331234567')).toEqual([{ source: 'Acme', destination: '393331234567', text: 'Hello', parts: 1 }]);
  });

  test.each([
    ['marks of direction', '\u202a+393331230001\u202c'],
    ['full-width digits', '＋３９３３３１２３０００１'],
    ['Arabic digits', '+٣٩٣٣٣١٢٣٠٠٠١'],
    ['a line break', '+393331230001\n'],
    ['the marks of a spreadsheet', '="+39 333 1230001"'],
  ])('to a number that was copied with %s reaches it', async (_, phoneNumber) => {
    const { messageId } = await program.client.send({ phoneNumber, message: 'Hello' });
    expect(await program.client.status(messageId ?? '')).toMatchObject({ destination: '+393331230001' });
  });

  test("in the message server's form does the same, with its placeholders replaced, under the client's own id", async () => {
    const { client } = program;
    const body = {
      destination: '00393331234568',
      sender: '+4477009001',
      body: 'Ciao {{name}}, è €{{sum}} {{other}}',
      placeholders: { name: 'Ada {{sum}}', sum: '5' },
      messageId: 'order/7 è',
    };
    const sent = await client.sendAsMessageServer(body);
    expect(sent).toEqual({
      messageId: expect.stringMatching(UUID7),
      customerMessageId: 'order/7 è',
      simulation: false,
      results: { sms: { accepted: true, unicode: false, parts: 1, reasons: [] } },
    });
    const delivered = await client.untilStatus('order/7 è', 'DELIVERED');
    expect(delivered).toMatchObject({
      messageId: sent.messageId,
      customerMessageId: 'order/7 è',
      destination: '+393331234568',
    });
    const text = 'Ciao Ada {{sum}}, è €5 {{other}}';
    expect(takenTo('393331234568')).toEqual([{ source: '4477009001', destination: '393331234568', text, parts: 1 }]);
  });

  test("repeated with the client's id gets the first response and sends nothing; with another text it is a conflict", async () => {
    const { client } = program;
    const body = { phoneNumber: '+393331234569', message: 'Once', customerMessageId: 'once' };
    const [first, ...repeats] = await Promise.all([client.send(body), client.send(body), client.send(body)]);
    expect(repeats).toEqual([first, first]);
    const other = await client.request('POST', SEND, { body: { ...body, message: 'Twice' } });
    expect(other).toMatchObject({ status: 409, body: { status: 409, error: 'Conflict' } });
    await client.untilStatus('once', 'DELIVERED');
    expect(takenTo('393331234569').map(({ text }) => text)).toEqual(['Once']);
  });

  test("that the carrier fails to deliver ends in a failure, with the carrier's text", async () => {
    const { client } = program;
    const { messageId } = await client.send({ phoneNumber: '+393331239901', message: 'Nobody there' });
    const failed = await client.untilStatus(messageId ?? '', 'UNDELIVERABLE');
    expect(failed).toMatchObject({ deliveryStatusCode: 6, errorCode: '001', deliveryDate: expect.any(String) });
    expect(failed.errorMessage).toContain('stat:UNDELIV');
  });

  test('that the carrier refuses ends REJECTED or UNDELIVERABLE at once, without a receipt', async () => {
    const { client } = program;
    const { messageId } = await client.send({ phoneNumber: '+393331239909', message: 'Refused' });
    const refused = await until('an end', async () => {
      const record = await client.status(messageId ?? '');
      return record.deliveryStatus !== 'ACCEPTED' && record;
    });
    expect(['REJECTED', 'UNDELIVERABLE']).toContain(refused.deliveryStatus);
    expect(refused.errorCode).not.toBeNull();
    expect(takenTo('393331239909')).toEqual([]);
  });

  test('may write its characters as JSON escapes', async () => {
    const { client } = program;
    const body = String.raw`{"phoneNumber":"+393331234579","message":"\ud83d\ude00 \\u0000 \u00e8","customerMessageId":"escaped"}`;
    expect((await client.request('POST', SEND, { body })).status).toBe(200);
    await client.untilStatus('escaped', 'DELIVERED');
    expect(takenTo('393331234579').map(({ text }) => text)).toEqual([String.raw`😀 \u0000 è`]);
  });

  test('scheduled for later is not sent early', async () => {
    const { client, pool } = program;
    const at = new Date(Date.now() + 3_600_000);
    const scheduledDate = formatScheduledDate(at);
    const sent = await client.sendAsMessageServer({
      destination: '+393331234570',
      sender: 'Acme',
      body: 'Later',
      scheduledDate,
    });
    expect(sent.results.sms.accepted).toBe(true);
    await client.untilStatus(
      (await client.send({ phoneNumber: '+393331234571', message: 'Now' })).messageId ?? '',
      'DELIVERED',
    );
    expect(takenTo('393331234570')).toEqual([]);
    const { rows } = await pool.query('SELECT available_at AS at FROM dispatch_chunk WHERE $1 = ANY(ids)', [
      sent.messageId,
    ]);
    expect(rows).toEqual([{ at }]);
  });
});

describe('the status', () => {
  test("of many messages can be read by our ids and by the client's, without unknown ones", async () => {
    const { client } = program;
    const a = await client.send({ phoneNumber: '+393331234572', message: 'A' });
    const b = await client.send({ phoneNumber: '+393331234573', message: 'B', customerMessageId: 'batch-b' });
    const unknown = '01900000-0000-7000-8000-000000000000';
    const both = await client.request(
      'GET',
      `${STATUS}?ids=${a.messageId},${unknown}&customerMessageIds=batch-b,nothing`,
    );
    expect(both.body).toHaveLength(2);
    const records = [a, b].map(({ messageId }) => expect.objectContaining({ messageId }));
    expect(both.body).toEqual(expect.arrayContaining(records));
    expect(await client.request('GET', `${STATUS}?customerMessageIds=nothing`)).toMatchObject({
      status: 200,
      body: [],
    });
  });

  test('in the short form is SENT, then DELIVERED or ERROR', async () => {
    const { client } = program;
    const simple = async (id: string) => (await client.request('GET', `/api/messages/status/${id}`)).body;
    const sent = await client.send({ phoneNumber: '+393331234574', message: 'Short', customerMessageId: 'short' });
    expect(await simple('short')).toEqual({
      messageId: sent.messageId,
      customerMessageId: 'short',
      status: 'SENT',
      channel: 'SMS',
      timestamp: expect.stringMatching(/Z$/),
    });
    await client.untilStatus('short', 'DELIVERED');
    expect(await simple('short')).toMatchObject({ status: 'DELIVERED' });
    const bad = await client.send({ phoneNumber: '+393331249901', message: 'Short' });
    await client.untilStatus(bad.messageId ?? '', 'UNDELIVERABLE');
    expect(await simple(bad.messageId ?? '')).toMatchObject({ status: 'ERROR' });
  });

  test('of a message on another channel than the requested one is not found', async () => {
    const { client } = program;
    const { messageId } = await client.send({ phoneNumber: '+393331234575', message: 'Channel' });
    const asked = async (channel: string) =>
      (await client.request('GET', `${STATUS}/${messageId}?channel=${channel}`)).status;
    expect(await Promise.all(['SMS', 'RCS', 'FAX'].map(asked))).toEqual([200, 404, 400]);
  });
});

test('every spelling of the path prefix reaches the same routes', async () => {
  const { client } = program;
  const { messageId } = await client.send({ phoneNumber: '+393331234576', message: 'Alias' });
  const delivered = await client.untilStatus(messageId ?? '', 'DELIVERED');
  for (const prefix of ['/api/partner-gateway/v1', '/partner-gateway/v1', '/api/v1/partner-gateway'])
    expect(await client.request('GET', `${prefix}/messages/status/${messageId}`)).toMatchObject({
      status: 200,
      body: delivered,
    });
  const bulk = { messages: [{ destinations: ['+393331234577'], sender: 'Acme', body: 'Alias' }] };
  for (const path of [BULK, '/api/services/sms/send'])
    expect(await client.request('POST', path, { body: bulk })).toMatchObject({ status: 200, body: { accepted: 1 } });
});

test("the owner's name and password have the same access as the key", async () => {
  const { client, account } = program;
  const headers = { 'x-api-key': '', authorization: basic(account.username, account.password) };
  const body = { phoneNumber: '+393331234578', message: 'By name' };
  expect((await client.request('POST', SEND, { headers, body })).status).toBe(200);
  const wrong = { 'x-api-key': '', authorization: basic(account.username, `${account.password}x`) };
  expect((await client.request('POST', SEND, { headers: wrong, body })).status).toBe(401);
});

test('the program reports that it is ready, and counts what it does', async () => {
  const { client } = program;
  expect(await client.request('GET', '/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
  expect(await client.request('GET', '/health/ready')).toMatchObject({
    status: 200,
    body: { status: 'ok', checks: { database: { ok: true }, carriers: { ok: true, detail: '1 up' } } },
  });
  const metrics = String((await client.request('GET', '/metrics')).body);
  expect(metrics).toMatch(/^heliograph_connection_up\{connection="main"\} 1$/m);
  expect(metrics).toMatch(
    /^heliograph_http_request_duration_seconds_count\{.*route="\/api\/message-server\/sms\/send"/m,
  );
});
