import { fc, test as propertyTest } from '@fast-check/vitest';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { createScriptedCarrier } from '../../test/support/carriers/scripted-carrier.ts';
import { testDatabase } from '../../test/support/database.ts';
import { listChunks, newMessage, queueMessages } from '../../test/support/queue.ts';
import { pumpOn } from '../../test/support/pump.ts';
import { reset } from '../../test/support/reset.ts';
import { runs } from '../../test/support/runs.ts';
import { until } from '../../test/support/until.ts';
import { exec, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import type { HeldChunk, Job } from '../dispatch/held.ts';
import { verdictOf } from '../dispatch/pump.ts';
import { DAY_MS } from '../core/time.ts';
import { createDailyCaps, type DailyCaps } from '../messages/daily-caps.ts';
import { jobOf, loadJobs, withRegistrations } from '../messages/load.ts';
import { insertConnection } from './connection-store.ts';
import {
  type NewRegistered,
  REGISTRATION_STATUSES,
  type RegisteredSender,
  registrationsOf,
  setRegistered,
} from './registered-senders.ts';
import { createRouter } from './router.ts';
import { insertRoute } from './routes.ts';
import { ANY_FORM } from './sender-rule-store.ts';
import { createSenderRules, setSenderRule } from './sender-rules.ts';

const { pool } = testDatabase();
const SPANIARD = '+34612345678';
const CONNECTIONS = [1, 2, 3];

beforeAll(async () => {
  for (const name of ['one', 'two', 'three'])
    await insertConnection(pool, { name, kind: 'smpp', sandbox: false, settings: {} });
});
beforeEach(async () => {
  await reset(
    pool,
    sql`TRUNCATE route, sender_rule, registered_sender, message, dispatch_chunk RESTART IDENTITY CASCADE`,
  );
  for (const connectionId of CONNECTIONS)
    await insertRoute(pool, { channel: 'SMS', prefix: '34', connectionId, priority: connectionId });
  const rule = { prefix: '34', alphanumeric: 'refused', replacement: null, registeredOnly: true } as const;
  await transaction(pool, (tx) => setSenderRule(tx, { ...ANY_FORM, ...rule, by: 'Ada' }));
});

const entry = (more: Partial<NewRegistered> = {}): NewRegistered => ({
  prefix: '34',
  sender: 'ACME',
  ownerId: null,
  connectionId: null,
  status: 'ACTIVE',
  reference: null,
  validFrom: null,
  validTo: null,
  brandId: null,
  campaignId: null,
  tps: null,
  dailyCap: null,
  ...more,
});

const replaceAll = (entries: readonly NewRegistered[]) =>
  transaction(pool, async (tx) => {
    await exec(tx, sql`DELETE FROM registered_sender`);
    for (const each of entries) await setRegistered(tx, { ...each, by: 'Ada' });
  });

async function loaded() {
  const rules = createSenderRules(pool);
  const router = createRouter(pool, undefined, undefined, rules);
  await Promise.all([rules.reload(), router.reload()]);
  return { rules, router };
}

const traffic = { accountId: 1, sender: 'ACME', network: null, at: null, key: 'k', salt: 0 };

const past = new Date(Date.now() - 3_600_000);
const future = new Date(Date.now() + 3_600_000);
const anyEntry = fc.record({
  connectionId: fc.constantFrom(null, ...CONNECTIONS),
  status: fc.constantFrom(...REGISTRATION_STATUSES, 'ACTIVE' as const),
  prefix: fc.constantFrom('34', '346', '347'),
  validFrom: fc.constantFrom(null, past, future),
  validTo: fc.constantFrom(null, new Date(future.getTime() + 1)),
});

const CHUNK: Omit<HeldChunk, 'alternates' | 'jobs'> = {
  id: 1,
  accountId: 1,
  priority: 0,
  round: 0,
  attempt: 0,
  tries: 0,
  onUnknown: 'hold',
  campaignId: null,
  written: 0,
  settled: 0,
  lost: false,
  parked: false,
};

/** Connections over which the sender is registered in Spain, from the entries alone. The last of equal ones counts. */
function registeredIn(entries: readonly NewRegistered[]): number[] {
  const rows = new Map(entries.map((each) => [`${each.prefix}/${each.connectionId}`, each])).values();
  const holding = [...rows].filter((r) => r.status === 'ACTIVE' && r.prefix !== '347' && r.validFrom !== future);
  return CONNECTIONS.filter((id) => holding.some((r) => r.connectionId === null || r.connectionId === id));
}

propertyTest.prop([fc.array(anyEntry, { maxLength: 5 }), fc.array(anyEntry, { maxLength: 5 })], { numRuns: runs(30) })(
  'a message to Spain never leaves over a connection without a registration, also when registrations change while it waits and connections fail over',
  async (before, after) => {
    const [first, second] = [before.map(entry), after.map(entry)];
    await replaceAll(first);
    const { rules, router } = await loaded();
    const chosen = router.find('SMS', SPANIARD, traffic);
    expect(chosen.connectionIds).toEqual(registeredIn(first));
    expect(chosen.isUnregistered ?? false).toBe(chosen.connectionIds.length === 0);

    await replaceAll(second);
    await rules.reload();
    const job = jobOf(newMessage({ accountId: 1, destination: SPANIARD, sender: 'ACME' }));
    const allowed = registeredIn(second);
    const [, ...alternates] = chosen.connectionIds;
    for (const [n, connectionId] of chosen.connectionIds.entries()) {
      const chunk: HeldChunk = { ...CHUNK, alternates: alternates.slice(n), jobs: [job] };
      const [[tested] = []] = withRegistrations([chunk], [[job]], { connectionId, senderRules: rules });
      expect(tested?.refusal === undefined).toBe(allowed.includes(connectionId));
      if (tested?.refusal) expect(verdictOf(tested.refusal, chunk).elsewhere).toBe(chunk.alternates.length > 0);
    }
  },
);

test('messages whose registration ended while they waited go on to the connection where it holds, unwritten', async () => {
  await replaceAll([entry({ connectionId: 2 })]);
  const { rules } = await loaded();
  await queueMessages(pool, { count: 3, alternates: [2] });
  await exec(pool, sql`UPDATE message SET destination = ${SPANIARD}, sender = 'ACME'`);
  const carrier = createScriptedCarrier();
  pumpOn(pool, carrier, {
    load: async (chunks) =>
      withRegistrations(chunks, await loadJobs(pool, chunks), { connectionId: 1, senderRules: rules }),
  });
  await until('the move', async () => (await listChunks(pool)).every(({ connectionId }) => connectionId === 2));
  expect((await listChunks(pool)).flatMap(({ ids }) => ids)).toHaveLength(3);
  expect(carrier.submitted).toEqual([]);
});

test('messages from a registered sender keep to the rate of its registration, and those from others do not', async () => {
  await replaceAll([entry({ tps: 1 })]);
  const { rules } = await loaded();
  await queueMessages(pool, { count: 3 });
  await queueMessages(pool, { count: 3 });
  await exec(
    pool,
    sql`UPDATE message SET destination = ${SPANIARD}, sender = 'ACME'
                       WHERE id IN (SELECT id FROM message ORDER BY id LIMIT 3)`,
  );
  await exec(pool, sql`DELETE FROM sender_rule`);
  await rules.reload();
  const carrier = createScriptedCarrier();
  pumpOn(pool, carrier, {
    load: async (chunks) =>
      withRegistrations(chunks, await loadJobs(pool, chunks), { connectionId: 1, senderRules: rules }),
  });
  const since = performance.now();
  await until('all others and one of the paced', () => carrier.submitted.length === 4);
  await until('the rest', () => carrier.submitted.length === 6);
  // The burst of a rate of one is one part: the third leaves after two seconds.
  expect(performance.now() - since).toBeGreaterThan(1900);
});

test('all workers together send no more parts a day than the cap, parts that no carrier took are sent after all, and the rest waits for the next day', async () => {
  await replaceAll([entry({ dailyCap: 5 })]);
  const { rules } = await loaded();
  const job = (): Job => jobOf(newMessage({ accountId: 1, destination: SPANIARD, sender: 'ACME', parts: 2 }));
  const noon = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2;
  const [one, other] = [createDailyCaps(pool, () => noon), createDailyCaps(pool, () => noon)];
  const limit = async (caps: DailyCaps, count: number) => {
    const jobs = withRegistrations([{ accountId: 1 }], [Array.from({ length: count }, job)], {
      connectionId: 1,
      senderRules: rules,
    });
    return (await caps.limit(jobs)).flat().filter((each) => each !== undefined);
  };
  const waits = (jobs: readonly Job[]) => jobs.map(({ refusal }) => refusal !== undefined);
  const [first] = await limit(one, 1);
  expect(first?.refusal).toBeUndefined();
  const second = await limit(other, 3);
  expect(waits(second)).toEqual([false, true, true]);
  expect(second[1]?.refusal).toMatchObject({ kind: 'retry', afterMs: DAY_MS / 2, code: 'DAILY_CAP' });
  if (first) one.settled(first, { kind: 'retry', afterMs: 0, counts: false, code: 'ESME_RTHROTTLED', text: '' });
  expect(waits(await limit(one, 2))).toEqual([false, true]);
  await exec(pool, sql`UPDATE registered_sender SET used_on = used_on - 1`);
  expect(waits(await limit(other, 2))).toEqual([false, false]);
});

test('the registration of the connection goes before one of all connections, then the longest prefix', () => {
  const rows = [entry({ tps: 1 }), entry({ tps: 2, prefix: '346' }), entry({ tps: 3, connectionId: 2 })];
  const table = registrationsOf(
    rows.map((row, id): RegisteredSender => ({ ...row, id, account: null, connection: null })),
  );
  const use = { accountId: 1, destination: SPANIARD, sender: 'acme' };
  expect([1, 2].map((id) => table.find(use, id)?.tps)).toEqual([2, 3]);
});

test('the replacement that a rule names passes without a registration, until it has one', async () => {
  const rule = { prefix: '34', alphanumeric: 'replaced', replacement: 'SHARED', registeredOnly: true } as const;
  await transaction(pool, (tx) => setSenderRule(tx, { ...ANY_FORM, ...rule, by: 'Ada' }));
  const ways = async () =>
    (await loaded()).router.find('SMS', SPANIARD, { ...traffic, sender: 'SHARED' }).connectionIds;
  expect(await ways()).toEqual([1, 2, 3]);
  await replaceAll([entry({ sender: 'SHARED', connectionId: 3 })]);
  expect(await ways()).toEqual([3]);
});
