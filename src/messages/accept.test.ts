import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor, addBalances, draft, freeOver } from '../../test/support/drafts.ts';
import { registerWebhook } from '../../test/support/http/webhook.ts';
import { listChunks, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { timeOfId } from '../core/ids.ts';
import { createWaker } from '../dispatch/pump.ts';
import { claimChunks } from '../dispatch/store.ts';
import type { NetworkFinder } from '../routing/number-lookups.ts';
import { WHOLE_CONTENT_ONLY } from '../templates/content.ts';
import { type Accept, createAccept } from './accept.ts';
import { loadJobs, loadRecentJobs } from './load.ts';
import { createRecentMessages, type RecentMessages } from './new-messages.ts';
import type { Lookups } from './prepare.ts';
import type { Draft, Verdict } from './read-send.ts';

const { pool } = testDatabase();

/** Connections that were woken, in order. */
let woken: number[];
let accept: Accept;
/** Messages that the pumps of this process get. */
let recent: RecentMessages;
beforeEach(async () => {
  await reset(pool, sql`TRUNCATE message, message_state, client_message_id, dispatch_chunk, simulated_outcome`);
  await addBalances(pool);
  woken = [];
  recent = createRecentMessages();
  accept = newAccept();
});

/** Numbers of Portugal go over connection 1, those of Italy over 2, all others nowhere. */
const findRoute = (_: string, destination: string): number[] =>
  destination.startsWith('+351') ? [1] : destination.startsWith('+39') ? [2, 3] : [];

function newAccept(): Accept {
  const waker = { ...createWaker(pool), wake: (connectionId: number) => void woken.push(connectionId) };
  return createAccept({ pool, tables: freeOver(findRoute), waker, recentMessages: recent });
}

const idOf = (verdict: Verdict | undefined): string => {
  if (verdict?.kind !== 'accepted') throw new Error(`expected an accepted message, got ${JSON.stringify(verdict)}`);
  return verdict.messageId;
};
const numbered = (count: number, more: Partial<Draft> = {}): Draft[] =>
  Array.from({ length: count }, (_, n) => draft({ body: `message ${n}`, ...more }));

const stored = async (): Promise<number> =>
  (await one<{ n: number }>(pool, sql`SELECT count(*)::int AS n FROM message`)).n;

/** The texts in the order of the queue. */
const queuedTexts = async (): Promise<string[]> => {
  const ids = (await listChunks(pool)).flatMap((chunk) => chunk.ids);
  const rows = await many<{ id: string; body: string }>(pool, sql`SELECT id, body FROM message`);
  const texts = new Map(rows.map((row) => [row.id, row.body]));
  return ids.map((id) => texts.get(id) ?? '?');
};

describe('where routes depend on the network of a number', () => {
  /** Networks with which routes were requested, by the last two digits of the number; those that end in 1 are known. */
  function acceptWithNetworks() {
    const asked: string[][] = [];
    const routed = new Map<string, string | null>();
    const networks: NetworkFinder = {
      isNeeded: () => true,
      async find(numbers, { wait }) {
        asked.push([...numbers, wait ? 'waits' : 'does not wait']);
        return (number) => (number.endsWith('1') ? '22201' : null);
      },
    };
    const tables: Lookups = {
      ...freeOver((_channel, destination, { network }) => {
        routed.set(destination.slice(-2), network);
        return [2];
      }),
      networks,
    };
    return { asked, routed, accept: createAccept({ pool, tables, waker: createWaker(pool), recentMessages: recent }) };
  }

  test('single messages and bulk are routed with it, and numbers of other channels and simulations are not looked up', async () => {
    const { asked, routed, accept: own } = acceptWithNetworks();
    await own.one(actor(), draft({ destination: '00393331234501' }));
    await own.many(actor(), [
      draft({ destination: '+393331234511' }),
      draft({ destination: '+393331234512' }),
      draft({ destination: '+393331234513', simulation: true }),
      draft({ destination: 'no number' }),
    ]);
    expect(asked).toEqual([
      ['+393331234501', 'waits'],
      ['+393331234511', '+393331234512', 'waits'],
    ]);
    expect([...routed]).toEqual([
      ['01', '22201'],
      ['11', '22201'],
      ['12', null],
    ]);
  });
});

test('an account whose endpoint takes it is told that a message was accepted, before all else; of others nothing is written', async () => {
  await reset(pool, sql`TRUNCATE webhook_outbox, webhook_endpoint`);
  await registerWebhook(pool, { accountId: 1, url: 'https://receiver.example/' });
  await exec(pool, sql`UPDATE webhook_endpoint SET form = 'V2', kinds = '{ACCEPTED,DELIVERY}'`);
  const own = createAccept({
    pool,
    tables: { ...freeOver(findRoute), takesAccepted: (accountId) => accountId === 1 },
    waker: createWaker(pool),
    recentMessages: recent,
  });
  await own.one(actor(2), draft());
  const single = idOf(await own.one(actor(), draft()));
  const [simulated, bulk] = (await own.many(actor(), [draft({ simulation: true }), draft()])).map(idOf);
  const told = await many<{ kind: string; ids: string[] }>(
    pool,
    sql`SELECT kind, message_ids::text[] AS ids FROM webhook_outbox ORDER BY id`,
  );
  expect(told.map(({ kind, ids }) => [kind, ids])).toEqual([
    ['ACCEPTED', [single]],
    ['ACCEPTED', [simulated]],
    ['DELIVERY', [simulated]],
    ['ACCEPTED', [bulk]],
  ]);
});

describe('what is accepted', () => {
  test('is committed with everything that was asked for, and wakes its connection', async () => {
    const validUntil = new Date(Date.now() + 60_000);
    const verdict = await accept.one(
      actor(),
      draft({
        clientId: 'order-1',
        destination: '00351912345678',
        body: 'Olá “tudo”\\',
        validUntil,
        wantReceipt: false,
      }),
    );
    expect(verdict).toEqual({ kind: 'accepted', messageId: expect.any(String), parts: 1, unicode: true });
    expect(await one(pool, sql`SELECT * FROM message`)).toEqual({
      account_id: 1,
      asked_sender: null,
      id: idOf(verdict),
      client_id: 'order-1',
      channel: 'SMS',
      source: 'API',
      simulation: false,
      connection_id: 1,
      sender: 'ACME',
      destination: '+351912345678',
      body: 'Olá “tudo”\\',
      udh: null,
      binary_body: null,
      parts: 1,
      want_receipt: false,
      valid_until: validUntil,
      price_category: null,
      purpose: null,
      price_micros: 0,
      refund_undelivered: false,
      api_key_id: 1,
      user_id: null,
      scheduled_at: null,
      content: null,
      campaign_id: null,
      client_data: null,
      keeps_reserve: false,
      route_reason: null,
      smpp_credential_id: null,
      data_coding: null,
      tlvs: null,
    });
    expect(await listChunks(pool)).toMatchObject([
      { accountId: 1, connectionId: 1, priority: 0, ids: [idOf(verdict)] },
    ]);
    expect(woken).toEqual([1]);
  });

  test('keeps its bytes when it is binary', async () => {
    const binary = { udh: Buffer.from('0605040b8423f0', 'hex'), data: Buffer.from([0, 1, 34, 92, 255]) };
    await accept.one(actor(), draft({ body: '', binary }));
    const row = await one<{ udh: Buffer; data: Buffer }>(pool, sql`SELECT udh, binary_body AS data FROM message`);
    expect(row).toEqual(binary);
  });

  test('keeps the order of the request, in the verdicts and in the queue', async () => {
    const verdicts = await accept.many(actor(), numbered(2500));
    expect(await queuedTexts()).toEqual(numbered(2500).map((d) => d.body));
    const queued = (await listChunks(pool)).flatMap((chunk) => chunk.ids);
    expect(verdicts.map(idOf)).toEqual(queued);
  });

  test('keeps the order of single sends that share a commit', async () => {
    // Without opt-outs: requests that look them up together go on together, in a different order.
    const sender = { ...actor(), hasOptOuts: false };
    const verdicts = await Promise.all(numbered(300).map((d) => accept.one(sender, d)));
    const placeOf = new Map(verdicts.map((verdict, place) => [idOf(verdict), place]));
    const chunks = (await listChunks(pool)).map(({ ids }) => ids.map((id) => placeOf.get(id) ?? -1));
    // Two commits may be under way at the same time, and either may be the first: the order is each one's own.
    for (const places of chunks) expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(chunks.flat().sort((a, b) => a - b)).toEqual(numbered(300).map((_, place) => place));
    expect(chunks.length).toBeLessThan(10);
  });

  test('is one chunk for each account, connection, priority and time, of at most 1,000 messages', async () => {
    const later = new Date(Date.now() + 60_000);
    await accept.many(actor(), [
      ...numbered(1001, { priority: 1 }),
      ...numbered(2, { priority: 1, destination: '+393331234567' }),
      ...numbered(3, { priority: 0 }),
      ...numbered(4, { priority: 1, scheduledAt: later }),
      ...numbered(5, { priority: 1, destination: '+393331234567' }),
    ]);
    const shapes = (await listChunks(pool)).map((c) => [c.connectionId, c.priority, c.size, c.ids.length]);
    expect((await listChunks(pool)).map((c) => c.alternates).sort()).toEqual([[], [], [], [], [3]]);
    expect(shapes.sort()).toEqual(
      [
        [1, 1, 1000, 1000],
        [1, 1, 1, 1],
        [2, 1, 7, 7],
        [1, 0, 3, 3],
        [1, 1, 4, 4],
      ].sort(),
    );
    expect([...woken].sort()).toEqual([1, 2]);
    const { at } = await one<{ at: Date }>(pool, sql`SELECT available_at AS at FROM dispatch_chunk WHERE size = 4`);
    expect(at).toEqual(later);
  });

  test('of different accounts never shares a chunk, even in one commit', async () => {
    await Promise.all([1, 2, 1, 2].map((accountId) => accept.one(actor(accountId), draft())));
    const chunks = await listChunks(pool);
    for (const chunk of chunks) {
      const rows = await many<{ id: number }>(
        pool,
        sql`SELECT account_id AS id FROM message WHERE id = ANY(${chunk.ids}::uuid[])`,
      );
      expect(new Set(rows.map((row) => row.id))).toEqual(new Set([chunk.accountId]));
    }
  });

  test('gives accounts fair turns: the rounds of a large one grow, a newcomer starts at the front', async () => {
    await accept.many(actor(1), numbered(3000, { priority: 1 }));
    await accept.many(actor(2), numbered(10, { priority: 1 }));
    const rounds = (await listChunks(pool)).map((c) => [c.accountId, c.round]);
    expect(rounds).toEqual([
      [1, 0],
      [2, 0],
      [1, 1000],
      [1, 2000],
    ]);
  });

  test('has a state and no place in the queue when simulated, and needs no route', async () => {
    const id = idOf(await accept.one(actor(), draft({ simulation: true, destination: '+4915112345678' })));
    expect((await statesOf(pool, [id])).get(id)).toMatchObject({ status: 1, carrierId: null });
    expect(await listChunks(pool)).toEqual([]);
    expect(woken).toEqual([]);
  });
});

describe('the pumps of this process', () => {
  const claimAll = () => claimChunks(pool, { connectionId: 1, owner: 1, messages: 10_000, belowPriority: 100 });
  const loadRecent = async (chunks: Awaited<ReturnType<typeof claimAll>>) => {
    const queries = vi.spyOn(pool, 'query');
    onTestFinished(() => queries.mockRestore());
    const jobs = await loadRecentJobs(pool, chunks, { recent, resolver: WHOLE_CONTENT_ONLY });
    return { jobs, asked: queries.mock.calls.length };
  };

  test('get what was just accepted without reading it back, and it is what the database holds', async () => {
    const binary = { udh: Buffer.of(5, 0, 3, 1, 2, 1), data: Buffer.of(0, 255) };
    await accept.many(actor(), [
      ...numbered(1200),
      draft({ body: 'Olá “tudo” 🙂', validUntil: new Date(Date.now() + 60_000), wantReceipt: false }),
      draft({ body: '', binary }),
      draft({ body: 'with a header', udh: Buffer.of(5, 0, 3, 1, 2, 1) }),
    ]);
    await accept.one(actor(2), draft({ priority: 0 }));
    const chunks = await claimAll();
    const { jobs, asked } = await loadRecent(chunks);
    expect(asked).toBe(0);
    expect(jobs.flat().length).toBe(1204);
    expect(jobs).toEqual(await loadJobs(pool, chunks));
  });

  test('read from the database what is scheduled, and what refers to a template', async () => {
    await accept.one(actor(), draft({ scheduledAt: new Date(Date.now() + 60_000) }));
    await accept.one(actor(), draft({ content: { channel: 'RCS', message: { text: 'Hello' } } }));
    await exec(pool, sql`UPDATE dispatch_chunk SET available_at = now()`);
    const chunks = await claimAll();
    const { jobs, asked } = await loadRecent(chunks);
    expect([jobs.flat().length, asked]).toEqual([2, 1]);
  });

  test('get nothing of a request that was not committed', async () => {
    const put = vi.spyOn(recent, 'put');
    const claim = () => Promise.resolve(true);
    const record = () => Promise.reject(new Error('no'));
    await expect(accept.once(actor(), numbered(10), { claim, record })).rejects.toThrow('no');
    expect(put).not.toHaveBeenCalled();
  });
});

describe('what is refused', () => {
  test('stores nothing, and the rest of the request is accepted', async () => {
    const verdicts = await accept.many(actor(), [
      draft({ destination: 'me', clientId: 'a' }),
      draft({ clientId: 'b' }),
      draft({ destination: '+4915112345678', clientId: 'c' }),
      draft({ body: '' }),
    ]);
    expect(verdicts).toEqual([
      { kind: 'refused', refusal: 'not_a_number' },
      expect.objectContaining({ kind: 'accepted' }),
      { kind: 'refused', refusal: 'no_route' },
      { kind: 'refused', refusal: 'empty_body' },
    ]);
    expect(await stored()).toBe(1);
    expect((await listChunks(pool)).map((chunk) => chunk.size)).toEqual([1]);
    const ids = await many<{ id: string }>(pool, sql`SELECT client_id AS id FROM client_message_id`);
    expect(ids.map((row) => row.id)).toEqual(['b']);
  });

  test('leaves its client id free', async () => {
    await accept.one(actor(), draft({ clientId: 'a', destination: 'me' }));
    expect(await accept.one(actor(), draft({ clientId: 'a' }))).toMatchObject({ kind: 'accepted' });
  });

  test('may be the whole request, which may also be empty', async () => {
    expect(await accept.many(actor(), [])).toEqual([]);
    expect(await accept.many(actor(), [draft({ body: '' })])).toHaveLength(1);
    expect(woken).toEqual([]);
  });
});

describe('a statement that fails', () => {
  test('stores nothing of its request, causes no wake-up, and does not harm the next request', async () => {
    await exec(pool, sql`ALTER TABLE dispatch_chunk ADD CONSTRAINT no_more CHECK (size < 0) NOT VALID`);
    onTestFinished(() => exec(pool, sql`ALTER TABLE dispatch_chunk DROP CONSTRAINT IF EXISTS no_more`).then(() => {}));
    await expect(accept.many(actor(), [draft({ clientId: 'a' }), ...numbered(5)])).rejects.toThrow('no_more');
    const failed = await Promise.allSettled(numbered(5).map((d) => accept.one(actor(), d)));
    expect(failed.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
    expect(await stored()).toBe(0);
    expect(woken).toEqual([]);
    await exec(pool, sql`ALTER TABLE dispatch_chunk DROP CONSTRAINT no_more`);
    expect(await accept.one(actor(), draft({ clientId: 'a' }))).toMatchObject({ kind: 'accepted' });
  });
});

describe('a client id', () => {
  test('used again with the same content gives the first response and sends nothing', async () => {
    const long = draft({ clientId: 'a', body: 'x'.repeat(200) });
    const first = await accept.one(actor(), long);
    expect(await accept.one(actor(), long)).toEqual(first);
    expect(await stored()).toBe(1);
  });

  test.each([
    ['text', { body: 'Other' }],
    ['sender', { sender: 'Other' }],
    ['number', { destination: '+351912345679' }],
    ['simulation', { simulation: true }],
    ['octets', { body: '', binary: { udh: Buffer.of(1), data: Buffer.of(2) } }],
  ])('used again with another %s is a conflict and sends nothing', async (_, more) => {
    await accept.one(actor(), draft({ clientId: 'a' }));
    expect(await accept.one(actor(), draft({ clientId: 'a', ...more }))).toEqual({ kind: 'conflict' });
    expect(await stored()).toBe(1);
  });

  test('counts within one request as well', async () => {
    const [first, repeat, other, free] = await accept.many(actor(), [
      draft({ clientId: 'a' }),
      draft({ clientId: 'a' }),
      draft({ clientId: 'a', body: 'Other' }),
      draft({ clientId: 'b' }),
    ]);
    expect(repeat).toEqual(first);
    expect(other).toEqual({ kind: 'conflict' });
    expect(idOf(free)).not.toBe(idOf(first));
    expect(await stored()).toBe(2);
  });

  test('belongs to its account', async () => {
    const [one_, other] = [
      await accept.one(actor(1), draft({ clientId: 'a' })),
      await accept.one(actor(2), draft({ clientId: 'a', body: 'Other' })),
    ];
    expect(idOf(other)).not.toBe(idOf(one_));
  });

  test('used by many requests of several processes at the same time sends one message, and all get its id', async () => {
    const processes = [newAccept(), newAccept(), newAccept()];
    const ask = (n: number) => (processes[n % 3] ?? accept).one(actor(), draft({ clientId: `c${n % 5}` }));
    const verdicts = await Promise.all(Array.from({ length: 60 }, (_, n) => ask(n)));
    expect(await stored()).toBe(5);
    const ids = verdicts.map(idOf);
    expect(ids.every((id, n) => id === ids[n % 5])).toBe(true);
    expect(new Set((await listChunks(pool)).flatMap((chunk) => chunk.ids))).toEqual(new Set(ids));
  });

  test('does not deadlock lists that share ids in opposite order', async () => {
    const list = numbered(500).map((d, n) => ({ ...d, clientId: `c${n}` }));
    const verdicts = await Promise.all([
      newAccept().many(actor(), list),
      newAccept().many(actor(), [...list].reverse()),
    ]);
    expect(verdicts[0]?.map(idOf)).toEqual(verdicts[1]?.map(idOf).reverse());
    expect(await stored()).toBe(500);
  });

  test('is free again after 24 hours, and then refers to the newest message', async () => {
    const first = await accept.one(actor(), draft({ clientId: 'a' }));
    await exec(pool, sql`UPDATE client_message_id SET created_at = now() - interval '23 hours 59 minutes'`);
    expect(await accept.one(actor(), draft({ clientId: 'a' }))).toEqual(first);
    await exec(pool, sql`UPDATE client_message_id SET created_at = now() - interval '24 hours 1 second'`);
    const second = await accept.one(actor(), draft({ clientId: 'a', body: 'Other' }));
    expect(idOf(second)).not.toBe(idOf(first));
    expect(await one(pool, sql`SELECT message_id AS id FROM client_message_id`)).toEqual({ id: idOf(second) });
    expect(await accept.one(actor(), draft({ clientId: 'a' }))).toEqual({ kind: 'conflict' });
  });
});

test('the id of a message contains when it was accepted', async () => {
  const before = Date.now();
  const at = timeOfId(idOf(await accept.one(actor(), draft()))).getTime();
  expect(at).toBeGreaterThanOrEqual(before);
  expect(at).toBeLessThanOrEqual(Date.now());
});
