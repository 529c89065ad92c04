import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDirectory } from '../../src/base.ts';
import { hold, release } from '../../src/cells/copy.ts';
import { loadConfig } from '../../src/core/config.ts';
import { transaction } from '../../src/core/db/transaction.ts';
import { createAccount } from '../../src/operate/account-commands.ts';
import { BULK, type Client, createClient, SEND } from '../support/client.ts';
import { testDatabase } from '../support/database.ts';
import { OWN_PAGES, SESSION } from '../support/http/session-stage.ts';
import { nginxIsMissing, type RunningNginx, startNginx } from '../support/nginx.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';

const BEHIND_PROXY = { TRUST_PROXY: '127.0.0.1' };
const STREAM = '/api/partner-gateway/v1/inbox/conversations/stream';

describe.skipIf(nginxIsMissing() !== undefined)('behind nginx with the configuration of deploy/cells', () => {
  const own = testDatabase({ empty: true });
  const opened = new AsyncDisposableStack();
  let cells: [TestProgram, TestProgram];
  let nginx: RunningNginx;

  beforeAll(async () => {
    const cellOf = async (cell: string): Promise<TestProgram> =>
      opened.use(await startTestProgram({ environment: { ...BEHIND_PROXY, CELL: cell } }));
    cells = [await cellOf('0'), await cellOf('1')];
    const databases = cells.map(({ environment }, cell) => `${cell}=${environment['DATABASE_URL']}`).join(' ');
    const environment = {
      DIRECTORY_URL: own.connectionString,
      CELL_DATABASES: databases,
      PORT: '0',
      LOG_LEVEL: 'silent',
    };
    const directory = await startDirectory(loadConfig(environment));
    opened.defer(directory.stop);
    const [first, second] = cells;
    nginx = await startNginx({
      directory: new URL(directory.address).host,
      cells: [new URL(first.origin()).host, new URL(second.origin()).host],
    });
    opened.defer(nginx.stop);
  });
  afterAll(() => opened.disposeAsync());

  const clientOf = (apiKey: string): Client => createClient(() => nginx.origin, apiKey);
  const messagesIn = async ({ pool }: TestProgram): Promise<number> =>
    Number((await pool.query('SELECT count(*) FROM message')).rows[0]?.count);

  test.each([
    '/metrics',
    '/health/ready',
    '/health',
    '/Metrics',
    '/%6detrics',
    '/cells/0/health/ready',
    '/cells/0/health/live/',
    '/cells/0/health/%72eady',
    '/cells/0/metrics',
    '/cells/0/health',
  ])('%s is closed to the world', async (path) => {
    expect((await fetch(`${nginx.origin}${path}`)).status).toBe(404);
  });

  test('the world can ask whether a cell runs', async () => {
    const answers = await Promise.all([0, 1].map((cell) => fetch(`${nginx.origin}/cells/${cell}/health/live`)));
    expect(await Promise.all(answers.map(async (answer) => [answer.status, await answer.json()]))).toEqual([
      [200, { status: 'ok' }],
      [200, { status: 'ok' }],
    ]);
  });

  test('each account sends in its own cell, and finds its messages there', async () => {
    for (const [index, cell] of cells.entries()) {
      const before = await messagesIn(cell);
      const client = clientOf(cell.account.apiKey);
      const { messageId } = await client.send({ phoneNumber: '+393331234567', message: `From cell ${index}` });
      expect(await messagesIn(cell)).toBe(before + 1);
      expect(await client.untilStatus(messageId ?? '', 'DELIVERED')).toMatchObject({ messageId });
    }
  });

  test('a body that is larger than the buffers of nginx arrives whole', async () => {
    const destinations = Array.from({ length: 5000 }, (_, i) => `+39333${String(1_000_000 + i)}`);
    const messages = [{ destinations, sender: 'Acme', body: 'For all' }];
    const { status, body } = await clientOf(cells[1].account.apiKey).request('POST', BULK, { body: { messages } });
    expect([status, body]).toEqual([200, expect.objectContaining({ accepted: 5000 })]);
  });

  test('a person of any cell signs in on the same page, and stays in that cell', async () => {
    for (const [index, { pool }] of cells.entries()) {
      // Usernames are unique over all cells.
      const account = await createAccount(pool, { name: `People ${index}`, plan: 'trial' });
      const credentials = { username: account.username, password: account.password };
      const browser = clientOf('');
      const headers = { ...OWN_PAGES, 'x-api-key': '' };
      const answer = await browser.request('POST', SESSION, { body: credentials, headers });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
      const shown = await browser.request('GET', SESSION, { headers: { ...headers, cookie } });
      expect(shown.body).toMatchObject({ ownAccountId: account.accountId });
    }
  });

  test('a live view begins at once', async () => {
    const headers = { 'x-api-key': cells[1].account.apiKey, accept: 'text/event-stream' };
    const stop = new AbortController();
    const answer = await fetch(`${nginx.origin}${STREAM}`, { headers, signal: stop.signal });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringMatching('event-stream')]);
    const first = await answer.body?.getReader().read();
    expect(first?.value?.length).toBeGreaterThan(0);
    stop.abort();
  });

  test('callers whom no cell knows are refused by one of them', async () => {
    const { status, body } = await clientOf(`pg_live_${'A'.repeat(43)}`).request('POST', SEND, { body: {} });
    expect([status, body]).toEqual([401, expect.objectContaining({ status: 401, requestId: expect.any(String) })]);
  });

  test('a request of an account that is held gets a 503 with Retry-After, and is served later', async () => {
    const { account, pool } = cells[1];
    const send = (apiKey: string) =>
      clientOf(apiKey).request('POST', SEND, { body: { phoneNumber: '+393331234567', message: 'Now?' } });
    await hold(pool, { accountId: account.accountId, cell: 0 });
    const refused = await send(account.apiKey);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await send(cells[0].account.apiKey)).status).toBe(200);
    await transaction(pool, (tx) => release(tx, account.accountId));
    expect((await send(account.apiKey)).status).toBe(200);
  });
});
