import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BULK, SEND } from '../support/client.ts';
import { startLostAnswers } from '../support/lost-answers.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

const KEYS = '/api/partner-gateway/v1/authentication';
let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram();
});
afterAll(() => program[Symbol.asyncDispose]());

let next = 0;
const freshKey = (): string => `key ${++next}`;

/** Sends a request; returns the text of the response, to be compared byte by byte. */
async function post(path: string, key: string, body: unknown, more: { clientKey?: string; method?: string } = {}) {
  const {
    status,
    headers,
    body: answer,
  } = await program
    .clientOf(more.clientKey ?? program.account.apiKey)
    .request(more.method ?? 'POST', path, { body, headers: { 'idempotency-key': key } });
  return { status, text: JSON.stringify(answer), replayed: headers.get('idempotency-replayed'), headers };
}

const sms = (phoneNumber = '+393331234567', more: object = {}) => ({ phoneNumber, message: 'Hello', ...more });
const bulk = (...destinations: string[]) => ({ messages: [{ destinations, sender: 'Acme', body: 'Hello' }] });
const messagesTo = async (destination: string): Promise<number> => {
  const { rows } = await program.pool.query('SELECT count(*)::int AS n FROM message WHERE destination = $1', [
    destination,
  ]);
  return rows[0].n;
};
const keysNamed = async (name: string): Promise<number> =>
  (await program.pool.query('SELECT count(*)::int AS n FROM api_key WHERE name = $1', [name])).rows[0].n;

describe('the same request again', () => {
  test('gets exactly the first response, with its own request id in the header, and does nothing', async () => {
    const cases = [
      [SEND, sms('+393330000001')],
      [SEND, { destination: '+393330000001', sender: 'Acme', body: 'Hello' }],
      [BULK, bulk('+393330000002', '+393330000003', 'nonsense')],
      [KEYS, { name: 'again' }],
    ] as const;
    for (const [path, body] of cases) {
      const key = freshKey();
      const first = await post(path, key, body);
      const again = await post(path, key, body);
      expect(first.status, first.text).toBeLessThan(300);
      expect(first.replayed).toBeNull();
      expect(again).toMatchObject({ status: first.status, text: first.text, replayed: 'true' });
      expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
      expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    }
    expect(await messagesTo('+393330000001')).toBe(2);
    expect(await messagesTo('+393330000002')).toBe(1);
    expect(await keysNamed('again')).toBe(1);
  });

  test('gets the first response even after a restart of the program', async () => {
    const key = freshKey();
    const first = await post(SEND, key, sms('+393330000010'));
    await program.stop();
    await program.start();
    expect(await post(SEND, key, sms('+393330000010'))).toMatchObject({ text: first.text, replayed: 'true' });
    expect(await messagesTo('+393330000010')).toBe(1);
  });

  test('gets the same refusal or error: responses that changed nothing are stored as well', async () => {
    const cases = [
      { body: sms('+999330000001'), status: 200 },
      { body: { phoneNumber: '+393331234567' }, status: 400 },
      { body: sms('+393331234567', { message: '' }), status: 400 },
    ];
    for (const { body, status } of cases) {
      const key = freshKey();
      const first = await post(SEND, key, body);
      expect(first.status).toBe(status);
      expect(await post(SEND, key, body)).toMatchObject({ status, text: first.text, replayed: 'true' });
    }
  });

  test('is processed again if the first was not allowed: 401 and 403 are not stored', async () => {
    const key = freshKey();
    expect((await post(KEYS, key, { name: 'allowed' }, { clientKey: 'none' })).status).toBe(401);
    const { body } = await program.client.request('POST', KEYS, { body: { operations: ['SMS'] } });
    const { apiKey: narrow } = body as { apiKey: string };
    expect((await post(KEYS, key, { name: 'allowed' }, { clientKey: narrow })).status).toBe(403);
    expect(await post(KEYS, key, { name: 'allowed' })).toMatchObject({ status: 201, replayed: null });
  });
});

describe('another request under the same key', () => {
  test('is a conflict, whether the body, the path or the query differs, and does nothing', async () => {
    const key = freshKey();
    const first = await post(SEND, key, sms('+393330000020'));
    const others = [
      [SEND, sms('+393330000021')],
      [`${SEND}?x=1`, sms('+393330000020')],
      [KEYS, { name: 'other' }],
      [BULK, bulk('+393330000021')],
    ] as const;
    for (const [path, body] of others)
      expect(await post(path, key, body)).toMatchObject({ status: 409, replayed: null });
    expect(await messagesTo('+393330000021')).toBe(0);
    expect(await keysNamed('other')).toBe(0);
    expect(await post(SEND, key, sms('+393330000020'))).toMatchObject({ text: first.text, replayed: 'true' });
  });

  test('of another account is independent', async () => {
    const key = freshKey();
    await using other = await startTestProgram();
    const first = await post(SEND, key, sms('+393330000022'));
    const elsewhere = await other.client.request('POST', SEND, {
      body: sms('+393330000099'),
      headers: { 'idempotency-key': key },
    });
    expect(first.status).toBe(200);
    expect(elsewhere.status).toBe(200);
  });
});

describe('many concurrent requests with one key', () => {
  test.each([
    ['a send', SEND, sms('+393330000030'), () => messagesTo('+393330000030')],
    [
      'a send with a client id',
      SEND,
      sms('+393330000031', { customerMessageId: 'c1' }),
      () => messagesTo('+393330000031'),
    ],
    ['a bulk send', BULK, bulk('+393330000032'), () => messagesTo('+393330000032')],
    ['a new API key', KEYS, { name: 'at once' }, () => keysNamed('at once')],
  ])('do the work of %s once; the others get its response or 409', async (_, path, body, count) => {
    const key = freshKey();
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(path, key, body)));
    const done = answers.filter(({ status }) => status < 300);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    expect(done.filter(({ replayed }) => replayed === null)).toHaveLength(1);
    expect(answers.filter(({ status }) => status >= 300 && status !== 409)).toEqual([]);
    expect(await count()).toBe(1);
    expect(await post(path, key, body)).toMatchObject({ text: done[0]?.text, replayed: 'true' });
  });

  test('do not affect other requests', async () => {
    const key = freshKey();
    const mixed = Array.from({ length: 60 }, (_, i) =>
      post(SEND, i % 3 === 0 ? key : freshKey(), sms(i % 3 === 0 ? '+393330000040' : '+393330000041')),
    );
    const answers = await Promise.all(mixed);
    expect(answers.filter((_, i) => i % 3 !== 0).map(({ status }) => status)).toEqual(Array(40).fill(200));
    expect(await messagesTo('+393330000040')).toBe(1);
    expect(await messagesTo('+393330000041')).toBe(40);
  });
});

/** Finds the session that waits for the lock on the API key values. */
const backendAtWork = (): Promise<number> =>
  until('a transaction that waits', async () => {
    const { rows } = await program.pool.query(
      `SELECT pid FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%INTO api_key_value%'`,
    );
    return rows[0]?.pid;
  });

describe('a crash', () => {
  test('that loses the response to a commit can be repeated for its response, and creates one message', async () => {
    await using relay = await startLostAnswers(program.environment['DATABASE_URL'] ?? '');
    await using through = await startTestProgram({
      roles: { worker: false },
      environment: { ...program.environment, DATABASE_URL: relay.connectionString },
    });
    for (const [path, body, count] of [
      [SEND, sms('+393330000050', { customerMessageId: 'lost' }), () => messagesTo('+393330000050')],
      [BULK, bulk('+393330000051'), () => messagesTo('+393330000051')],
      [KEYS, { name: 'lost' }, () => keysNamed('lost')],
    ] as const) {
      const key = freshKey();
      const headers = { 'idempotency-key': key };
      const client = through.clientOf(program.account.apiKey);
      relay.loseNext();
      expect((await client.request('POST', path, { body, headers })).status).toBe(503);
      expect(await count()).toBe(1);
      const again = await client.request('POST', path, { body, headers });
      expect([again.headers.get('idempotency-replayed'), again.status < 300]).toEqual(['true', true]);
      expect(await count()).toBe(1);
    }
    expect(relay.lost()).toBe(3);
  });

  test('in the middle of the work frees the key: 409 until then, and afterwards it is done once', async () => {
    const key = freshKey();
    const holder = await program.pool.connect();
    try {
      await holder.query('BEGIN; LOCK TABLE api_key_value IN EXCLUSIVE MODE');
      const interrupted = post(KEYS, key, { name: 'crashed' });
      const blocked = await backendAtWork();
      expect((await post(KEYS, key, { name: 'crashed' })).status).toBe(409);
      await program.pool.query('SELECT pg_terminate_backend($1)', [blocked]);
      // The gateway has lost the connection that did the work.
      await holder.query('ROLLBACK');
      expect((await interrupted).status).toBe(503);
    } finally {
      holder.release();
    }
    expect(await keysNamed('crashed')).toBe(0);
    expect(await post(KEYS, key, { name: 'crashed' })).toMatchObject({ status: 201, replayed: null });
    expect(await keysNamed('crashed')).toBe(1);
  });
});
