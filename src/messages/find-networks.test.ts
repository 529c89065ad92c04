import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor, draft, flatPrice, freeOver } from '../../test/support/drafts.ts';
import { exec, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { silentLog } from '../core/log.ts';
import { createGuard } from '../core/outbound.ts';
import { createSecretKey } from '../core/secrets.ts';
import { createWaker } from '../dispatch/pump.ts';
import type { PriceQuery } from '../money/pricing.ts';
import { createAccount } from '../operate/account-commands.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { addService, createNetworkFinder, openService } from '../routing/number-lookups.ts';
import { insertConditionalRoute } from '../routing/routes.ts';
import { type Accept, createAccept } from './accept.ts';

const { pool } = testDatabase();
const PRICE = 50_000;
const CREDIT = 10 * PRICE;

/** The numbers that were requested from the service. */
let asked: string[];
const service = createServer(({ url = '' }, response) => {
  asked.push(decodeURIComponent(/PhoneNumbers\/([^?]+)/.exec(url)?.[1] ?? ''));
  const body = { line_type_intelligence: { mobile_country_code: '222', mobile_network_code: '01' } };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});

let accept: Accept;
let rich = 0;
let poor = 0;
let close = async (): Promise<void> => undefined;

beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const connectionId =
    (await insertConnection(pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;
  const route = { channel: 'SMS', prefix: '39', connectionId, priority: 100, network: '22201' } as const;
  await insertConditionalRoute(pool, { ...route, accountId: null, sender: null, hours: null, purpose: null });
  const outside = {
    secretKey: createSecretKey(Buffer.alloc(32, 1)),
    guard: createGuard({ allowedBlocks: ['127.0.0.0/8'], ports: [443] }),
  };
  const baseUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  // Long enough for a busy machine.
  const settings = { preset: 'twilio', account: 'AC1', baseUrl, timeoutSeconds: 5, waitMs: 5000 };
  await transaction(pool, (tx) =>
    addService(tx, outside.secretKey, { name: 'service', apiKey: 'secret', by: 'Ada', settings }),
  );
  const open = (stored: Parameters<typeof openService>[0]) => openService(stored, outside);
  const networks = createNetworkFinder({ pool, log: silentLog, networkUse: () => 'choice', open, perDay: 1e6 });
  await networks.reload();
  close = networks.close;
  // A number has a route only when its network is known.
  const tables = {
    ...freeOver((_channel, _destination, { network }) => (network === '22201' ? [connectionId] : [])),
    findPrice: (message: PriceQuery) => (message.destination.startsWith('+3939') ? null : flatPrice(PRICE)(message)),
    networks,
  };
  accept = createAccept({ pool, tables, waker: createWaker(pool), recentMessages: null });
  rich = (await createAccount(pool, { name: 'Rich', plan: 'production', creditMicros: CREDIT })).accountId;
  poor = (await createAccount(pool, { name: 'Poor', plan: 'production' })).accountId;
});
afterAll(async () => {
  await close();
  service.close();
});
beforeEach(async () => {
  asked = [];
  await pool.query('TRUNCATE number_network, lookup_budget');
});

let next = 0;
const numbers = (count: number, prefix = '+39333'): string[] =>
  Array.from({ length: count }, () => `${prefix}${String(next++).padStart(13 - prefix.length, '0')}`);
const send = (accountId: number, destinations: readonly string[], more: object = {}) =>
  accept.many(
    { ...actor(accountId), hasOptOuts: true },
    destinations.map((destination) => draft({ destination, ...more })),
  );
const countOf = (verdicts: readonly { kind: string }[], kind: string): number =>
  verdicts.filter((verdict) => verdict.kind === kind).length;

test('an account without credit causes no look-up with a thousand destinations, in one request or one by one', async () => {
  const verdicts = await send(poor, numbers(1000));
  expect(countOf(verdicts, 'accepted')).toBe(0);
  const [one = ''] = numbers(1);
  expect((await accept.one(actor(poor), draft({ destination: one }))).kind).toBe('refused');
  expect(asked).toEqual([]);
});

test('no more numbers are looked up than the credit covers, and those are accepted by their network', async () => {
  const verdicts = await send(rich, numbers(1000));
  expect(asked).toHaveLength(10);
  expect(countOf(verdicts, 'accepted')).toBe(10);
  await exec(pool, sql`UPDATE credit_balance SET available_micros = ${CREDIT} WHERE account_id = ${rich}`);
});

test('what is refused for another reason than its route is not looked up', async () => {
  const [optedOut = ''] = numbers(1);
  await exec(
    pool,
    sql`INSERT INTO opt_out (account_id, channel, phone_number, source) VALUES (${rich}, 'SMS', ${optedOut}, 'API')`,
  );
  const withoutPrice = numbers(1, '+3939');
  expect(countOf(await send(rich, [optedOut, ...withoutPrice, 'no number']), 'refused')).toBe(3);
  expect(countOf(await send(rich, numbers(3), { sender: 'not a sender at all' }), 'refused')).toBe(3);
  expect(countOf(await send(rich, numbers(3), { body: '' }), 'refused')).toBe(3);
  expect(asked).toEqual([]);
});

test('a number whose network is known is sent to without another look-up', async () => {
  const [known = ''] = numbers(1);
  for (let n = 0; n < 3; n++)
    expect((await accept.one(actor(rich), draft({ destination: known }))).kind).toBe('accepted');
  expect(asked).toEqual([known]);
});
