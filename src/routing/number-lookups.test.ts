import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { silentLog } from '../core/log.ts';
import { createGuard } from '../core/outbound.ts';
import { createSecretKey } from '../core/secrets.ts';
import { insertConnection } from './connection-store.ts';
import { createCostList, insertCosts } from './costs.ts';
import { deleteOldKnown, type LookupService, listCounts } from './number-lookup-store.ts';
import {
  addService,
  countUsedUp,
  createNetworkFinder,
  findInstallationUsedUp,
  openService,
  removeService,
  testService,
} from './number-lookups.ts';
import { createRouter } from './router.ts';
import { insertConditionalRoute, insertRoute } from './routes.ts';

const { pool } = testDatabase();
const KEY = createSecretKey(Buffer.alloc(32, 1));
const outside = { secretKey: KEY, guard: createGuard({ allowedBlocks: ['127.0.0.0/8'], ports: [443] }) };
const WAIT = { accountId: 7, wait: true };
const NUMBERS = ['+393331234501', '+393331234502', '+393331234503'] as const;
const [NUMBER] = NUMBERS;

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** The service: the numbers requested, its maximum of concurrent requests, and its responses. */
let asked: string[];
let [open, most] = [0, 0];
let behave: Behaviour;
const held: (() => void)[] = [];
const server = createServer((request, response) => {
  asked.push(request.url ?? '');
  most = Math.max(most, ++open);
  response.on('close', () => (open -= 1));
  behave(request, response);
});
const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const answer =
  (body: object, status = 200): Behaviour =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const known = answer({ line_type_intelligence: { mobile_country_code: '222', mobile_network_code: '01' } });

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());
beforeEach(async () => {
  await reset(
    pool,
    sql`TRUNCATE lookup_service, number_network, lookup_day, lookup_budget, conditional_route, connection_cost, connection CASCADE`,
  );
  asked = [];
  [open, most] = [0, 0];
  behave = known;
  held.length = 0;
});

/** A route that names a network, for numbers that begin with 39. */
async function nameNetwork(): Promise<void> {
  const made = await insertConnection(pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} });
  await insertConditionalRoute(pool, {
    channel: 'SMS',
    prefix: '39',
    connectionId: made?.id ?? 0,
    priority: 100,
    network: '22201',
    accountId: null,
    sender: null,
    hours: null,
    purpose: null,
  });
}

const add = (settings: object = {}) =>
  transaction(pool, (tx) =>
    addService(tx, KEY, {
      name: 'service',
      apiKey: 'secret',
      by: 'Ada',
      // Long enough for a busy machine.
      settings: {
        preset: 'twilio',
        account: 'AC1',
        baseUrl: url(),
        timeoutSeconds: 30,
        waitMs: 5000,
        price: 0.004,
        ...settings,
      },
    }),
  );

/** A finder after a reload, closed at the end of the test. */
async function finder(now?: () => number, perDay = 1_000_000) {
  const costs = createCostList(pool);
  const router = createRouter(pool, costs.find, costs.dependsOnNetwork);
  const { networkUse } = router;
  const openOne = (service: LookupService) => openService(service, outside);
  const made = createNetworkFinder({ pool, log: silentLog, networkUse, open: openOne, perDay, ...(now && { now }) });
  const reload = async (): Promise<void> => {
    await Promise.all([costs.reload(), router.reload(), made.reload()]);
  };
  await reload();
  return { ...made, reload, [Symbol.asyncDispose]: made.close };
}

const stored = () =>
  many<{ number: string; network: string | null }>(
    pool,
    sql`SELECT number, network FROM number_network ORDER BY number`,
  );
const counts = async () =>
  (await listCounts(pool)).map(({ answered, failed, costMicros }) => [answered, failed, costMicros]);

test('a number is looked up once, and its network known from then on in every process', async () => {
  await nameNetwork();
  await add();
  await using first = await finder();
  expect((await first.find([NUMBER], WAIT))(NUMBER)).toBe('22201');
  expect(asked).toEqual([`/v2/PhoneNumbers/${encodeURIComponent(NUMBER)}?Fields=line_type_intelligence`]);
  await using second = await finder();
  expect((await second.find([NUMBER], WAIT))(NUMBER)).toBe('22201');
  expect(asked).toHaveLength(1);
  expect(await counts()).toEqual([[1, 0, 4000]]);
});

test('only numbers are looked up whose route depends on the network', async () => {
  await add();
  await using idle = await finder();
  expect(idle.isNeeded()).toBe(false);
  await nameNetwork();
  await idle.reload();
  expect(idle.isNeeded()).toBe(true);
  const networkOf = await idle.find([NUMBER, '+33612345678'], WAIT);
  expect([networkOf(NUMBER), networkOf('+33612345678')]).toEqual(['22201', null]);
  expect(asked).toHaveLength(1);
});

test('where only the cost depends on the network, numbers are looked up if margins are to be exact, and no message waits', async () => {
  const connectionId =
    (await insertConnection(pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;
  await insertRoute(pool, { channel: 'SMS', prefix: '', connectionId, priority: 100 });
  await insertCosts(pool, { costs: [{ connectionId, prefix: '', network: '22201', unitMicros: 20 }] });
  await add();
  await using frugal = await finder();
  await frugal.find([NUMBER], WAIT);
  await transaction(pool, (tx) => removeService(tx, { name: 'service', by: 'Ada' }));
  await add({ margins: true });
  await using exact = await finder();
  const networkOf = await exact.find([NUMBER, '+491711234567'], WAIT);
  expect(networkOf(NUMBER)).toBeNull();
  await expect.poll(stored).toEqual([{ number: NUMBER, network: '22201' }]);
  expect((await exact.find([NUMBER], WAIT))(NUMBER)).toBe('22201');
  expect(asked).toHaveLength(1);
});

test('a number without a network is not asked for again until that is too old', async () => {
  await nameNetwork();
  await add();
  behave = answer({ line_type_intelligence: null });
  await using made = await finder();
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBeNull();
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBeNull();
  expect(asked).toHaveLength(1);
  await exec(pool, sql`UPDATE number_network SET valid_until = now() - interval '1 second'`);
  behave = known;
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBe('22201');
  await exec(pool, sql`UPDATE number_network SET valid_until = now() - interval '1 second'`);
  expect(await deleteOldKnown(pool)).toBe(1);
});

test('a message waits no longer than the service is given, and its response serves the next one', async () => {
  await nameNetwork();
  await add({ waitMs: 50 });
  behave = (request, response) => void held.push(() => known(request, response));
  await using made = await finder();
  const began = performance.now();
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBeNull();
  expect(performance.now() - began).toBeLessThan(30_000);
  await expect.poll(() => held.length).toBe(1);
  for (const release of held) release();
  await expect.poll(stored).toEqual([{ number: NUMBER, network: '22201' }]);
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBe('22201');
  expect(asked).toHaveLength(1);
});

test('messages that do not wait are routed with what is known, and the others are looked up for the next', async () => {
  await nameNetwork();
  await add();
  await using made = await finder();
  expect((await made.find([NUMBER], { ...WAIT, wait: false }))(NUMBER)).toBeNull();
  await expect.poll(stored).toHaveLength(1);
  expect((await made.find([NUMBER], { ...WAIT, wait: false }))(NUMBER)).toBe('22201');
});

test.each([
  ['an error of the service', answer({}, 500)],
  ['a throttled look-up', answer({}, 429)],
  ['a refused key', answer({}, 401)],
  ['a broken connection', ((request) => void request.socket.destroy()) satisfies Behaviour],
])('after %s nothing is known or stored, and the number is asked for again', async (_, fault) => {
  await nameNetwork();
  await add();
  behave = fault;
  await using made = await finder();
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBeNull();
  expect(await stored()).toEqual([]);
  expect(await counts()).toEqual([[0, 1, 0]]);
  behave = known;
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBe('22201');
});

test('a service that does not respond in its time has failed', async () => {
  await nameNetwork();
  await add({ timeoutSeconds: 0.1, waitMs: 5000 });
  behave = () => undefined;
  await using made = await finder();
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBeNull();
  expect(await counts()).toEqual([[0, 1, 0]]);
});

test('a service that fails again and again is left alone for half a minute', async () => {
  await nameNetwork();
  await add();
  behave = answer({}, 503);
  let time = Date.now();
  await using made = await finder(() => time);
  for (let i = 0; i < 10; i++) await made.find([`+39333000000${i}`], WAIT);
  expect(asked).toHaveLength(5);
  time += 31_000;
  behave = known;
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBe('22201');
});

test('no more look-ups are under way than the service is to have at a time, and one for each number', async () => {
  await nameNetwork();
  await add({ concurrency: 2, waitMs: 5000 });
  await using made = await finder();
  const numbers = Array.from({ length: 12 }, (_, i) => `+3933300000${10 + i}`);
  await Promise.all([made.find(numbers, WAIT), made.find(numbers, WAIT)]);
  expect(asked).toHaveLength(12);
  expect(most).toBeLessThanOrEqual(2);
  expect(await counts()).toEqual([[12, 0, 48_000]]);
});

test('accounts take turns: the many look-ups of one delay another by one at most', async () => {
  await nameNetwork();
  await add({ concurrency: 2, waitMs: 5000 });
  behave = (request, response) => void held.push(() => known(request, response));
  await using made = await finder();
  const many = made.find(severalNumbers(100), { accountId: 1, wait: true });
  await expect.poll(() => held.length).toBe(1);
  const one = made.find([NUMBER], { accountId: 2, wait: true });
  await expect.poll(() => held.length).toBe(2);
  held[1]?.();
  expect((await one)(NUMBER)).toBe('22201');
  expect(asked).toHaveLength(2);
  behave = known;
  held[0]?.();
  await many;
  expect(asked).toHaveLength(101);
});

test('numbers that the service rejects do not make it pause', async () => {
  await nameNetwork();
  await add();
  behave = answer({}, 400);
  await using made = await finder();
  for (let i = 0; i < 10; i++) await made.find([`+39333000000${i}`], WAIT);
  expect(asked).toHaveLength(10);
});

const severalNumbers = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, i) => `+3933${String(from + i).padStart(8, '0')}`);

test('an account has as many look-ups in a day as its plan, however many processes ask, and known numbers cost none', async () => {
  await nameNetwork();
  await add({ concurrency: 100 });
  const [trial] = await many<{ id: number }>(
    pool,
    sql`INSERT INTO account (name, plan) VALUES ('Trial', 'trial') RETURNING id`,
  );
  const ask = { accountId: trial?.id ?? 0, wait: true };
  // All but a hundred of its plan.
  await exec(
    pool,
    sql`INSERT INTO lookup_budget (account_id, day, asked) VALUES (${ask.accountId}, current_date, 900)`,
  );
  await using first = await finder();
  await using second = await finder();
  await Promise.all([first.find(severalNumbers(60), ask), second.find(severalNumbers(60, 60), ask)]);
  await expect.poll(async () => (await stored()).length).toBe(100);
  expect(asked).toHaveLength(100);
  expect(await countUsedUp(pool)).toBe(1);
  expect(await findInstallationUsedUp(pool)).toBeUndefined();
  const [{ number } = { number: '' }] = await stored();
  expect((await second.find([number], ask))(number)).toBe('22201');
  // Another account is not affected, and the next day has a new budget.
  await first.find(severalNumbers(1, 5000), WAIT);
  await pool.query(`UPDATE lookup_budget SET day = day - 1`);
  await first.find(severalNumbers(1, 6000), ask);
  expect(asked).toHaveLength(102);
});

test('all accounts together have no more look-ups in a day than the setting says', async () => {
  await nameNetwork();
  await add();
  await using made = await finder(undefined, 10);
  await Promise.all(
    [1, 2, 3].map((accountId) => made.find(severalNumbers(5, accountId * 10), { accountId, wait: true })),
  );
  expect(asked).toHaveLength(10);
  expect(await findInstallationUsedUp(pool)).toMatchObject({ asked: 15, allowed: 10 });
});

test('a changed or removed service is followed', async () => {
  await nameNetwork();
  await add();
  await using made = await finder();
  await transaction(pool, (tx) => removeService(tx, { name: 'service', by: 'Ada' }));
  await made.reload();
  expect(made.isNeeded()).toBe(false);
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBeNull();
  expect(asked).toEqual([]);
  await add({ preset: 'telnyx' });
  await made.reload();
  behave = answer({
    data: { carrier: { mobile_country_code: '222', mobile_network_code: 1 }, portability: { ported_status: 'Y' } },
  });
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBe('22201');
  expect(await many(pool, sql`SELECT ported FROM number_network`)).toEqual([{ ported: true }]);
});

test('what a service that is exchanged leaves unanswered is no failure of its successor', async () => {
  await nameNetwork();
  await add({ waitMs: 0 });
  behave = () => undefined;
  await using made = await finder();
  const numbers = Array.from({ length: 10 }, (_, i) => `+393330000${100 + i}`);
  await made.find(numbers, WAIT);
  await expect.poll(() => asked.length).toBe(10);
  await transaction(pool, (tx) => removeService(tx, { name: 'service', by: 'Ada' }));
  await add();
  behave = known;
  await made.reload();
  expect((await made.find([NUMBER], WAIT))(NUMBER)).toBe('22201');
});

test('a test of a service shows its response and stores nothing', async () => {
  await add();
  expect(await testService(pool, outside, { name: 'service', number: NUMBER })).toEqual({
    kind: 'answered',
    network: '22201',
    ported: null,
  });
  expect(await stored()).toEqual([]);
  await expect(testService(pool, outside, { name: 'none', number: NUMBER })).rejects.toThrow(
    'There is no look-up service',
  );
});

test('a service at an address that may not be dialled has failed', async () => {
  await add();
  const strict = { secretKey: KEY, guard: createGuard({ allowedBlocks: [], ports: [443] }) };
  expect(await testService(pool, strict, { name: 'service', number: NUMBER })).toMatchObject({ kind: 'failed' });
  expect(asked).toEqual([]);
});

test.each([
  [{ preset: 'none' }, 'settings.preset'],
  [{ preset: undefined }, 'settings.answer'],
  [{ waitMs: -1 }, 'settings.waitMs'],
  [{ request: { path: '/{{text2}}', method: 'GET', format: 'none' } }, 'settings.request'],
])('settings with %j are refused, naming %s', async (more, field) => {
  await expect(add(more)).rejects.toThrow(field);
});

test('a name is taken once', async () => {
  await add();
  await expect(add()).rejects.toThrow('A look-up service named service exists');
});
