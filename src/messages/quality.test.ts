import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { openWorkerSession } from '../core/db/worker-session.ts';
import { newId } from '../core/ids.ts';
import { silentLog } from '../core/log.ts';
import { STATUS } from '../core/message-state.ts';
import type { Result } from '../dispatch/commit.ts';
import { createAccount } from '../operate/account-commands.ts';
import { insertConnection, ROUTING_CHANNEL } from '../routing/connection-store.ts';
import { type PolicyInput, setPolicy } from '../routing/policies.ts';
import { createRouter, explainRoute } from '../routing/router.ts';
import { insertRoute } from '../routing/routes.ts';
import { createSampler, insertSamples, rateQuality } from './quality.ts';

const { pool, connectionString } = testDatabase();
const MINUTE_MS = 60_000;
const now = () => new Date();

let accountId: number;
let [good, cheap] = [0, 0];
beforeEach(async () => {
  await reset(
    pool,
    sql`TRUNCATE route_policy, route, connection_quality, quality_sample, message_state, connection CASCADE`,
  );
  accountId = (await createAccount(pool, { name: newId(), plan: 'unlimited' })).accountId;
  const connect = async (name: string) =>
    (await insertConnection(pool, { name, kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;
  [good, cheap] = [await connect('good'), await connect('cheap')];
});

type Fate = { readonly status: number; readonly seconds?: number; readonly at?: number };

/** Messages that a carrier responded to six minutes ago, with their later states. */
async function answer(connectionId: number, fates: readonly Fate[], minutesAgo = 6): Promise<void> {
  const answeredAt = new Date(Date.now() - minutesAgo * MINUTE_MS);
  for (const { status, seconds = 3, at = connectionId } of fates) {
    const messageId = newId();
    await exec(
      pool,
      sql`INSERT INTO message_state (account_id, id, status, attempts, connection_id, submitted_at, updated_at)
          VALUES (${accountId}, ${messageId}, ${status}, 1, ${at}, ${answeredAt},
                  ${new Date(answeredAt.getTime() + seconds * 1000)})`,
    );
    await insertSamples(pool, [{ accountId, messageId, connectionId, country: '39', answeredAt }]);
  }
}

const delivered = (count: number): Fate[] => Array.from({ length: count }, () => ({ status: STATUS.DELIVERED }));
const lost = (count: number): Fate[] => Array.from({ length: count }, () => ({ status: STATUS.ACCEPTED }));

const figures = () =>
  many<{ connectionId: number; country: string; messages: number; delivered: number; receiptMs: number }>(
    pool,
    sql`SELECT connection_id AS "connectionId", country, sum(messages)::bigint AS messages,
               sum(delivered)::bigint AS delivered, sum(receipt_ms)::bigint AS "receiptMs"
        FROM connection_quality GROUP BY connection_id, country ORDER BY connection_id, country`,
  );

const policy = (more: Partial<PolicyInput> = {}) =>
  transaction(pool, (tx) =>
    setPolicy(tx, {
      channel: 'SMS',
      prefix: '39',
      policy: 'least-cost',
      floor: 0.8,
      minSamples: 10,
      explore: 0,
      by: 'Ada',
      ...more,
    }),
  );

/** The connections of a number in Italy, in order, where the cheap one costs less. */
async function way(): Promise<readonly number[]> {
  const router = createRouter(pool, (connectionId) => (connectionId === cheap ? 1 : 9));
  await router.reload();
  const traffic = { accountId, sender: '', network: null, at: null, key: newId(), salt: 0 };
  return router.find('SMS', '+393331234567', traffic).connectionIds;
}

test('a sample counts as delivered when it was by the time it is judged, over the connection that is judged', async () => {
  await answer(good, [
    { status: STATUS.DELIVERED, seconds: 2 },
    { status: STATUS.DELIVERED, seconds: 4 },
    { status: STATUS.UNDELIVERABLE },
    { status: STATUS.ACCEPTED },
    // Rejected here, and delivered over another connection.
    { status: STATUS.DELIVERED, at: cheap },
  ]);
  await rateQuality({ pool, now });
  expect(await figures()).toEqual([{ connectionId: good, country: '39', messages: 5, delivered: 2, receiptMs: 6000 }]);
});

test('samples are judged once, and not before their receipts had five minutes', async () => {
  await answer(good, delivered(3), 4);
  await rateQuality({ pool, now });
  expect(await figures()).toEqual([]);
  await exec(pool, sql`UPDATE quality_sample SET answered_at = answered_at - interval '2 minutes'`);
  await Promise.all([rateQuality({ pool, now }), rateQuality({ pool, now })]);
  await rateQuality({ pool, now });
  expect(await figures()).toMatchObject([{ messages: 3, delivered: 3 }]);
});

test('a cheap connection that does not deliver loses the numbers to one that does, and has them back when it delivers', async () => {
  for (const connectionId of [good, cheap])
    await insertRoute(pool, { channel: 'SMS', prefix: '39', connectionId, priority: 100 });
  await policy();
  expect(await way()).toEqual([cheap, good]);
  await answer(good, delivered(20));
  await answer(cheap, [...delivered(5), ...lost(15)]);
  await rateQuality({ pool, now });
  expect(await way()).toEqual([good, cheap]);
  await exec(pool, sql`DELETE FROM connection_quality WHERE connection_id = ${cheap}`);
  await answer(cheap, delivered(20));
  await rateQuality({ pool, now });
  expect(await way()).toEqual([cheap, good]);
});

test('a connection that stops to deliver is noticed by its newest samples, however good it was before', async () => {
  await policy();
  for (const connectionId of [good, cheap])
    await insertRoute(pool, { channel: 'SMS', prefix: '39', connectionId, priority: 100 });
  for (const minutesAgo of [46, 36, 26, 16]) await answer(cheap, delivered(40), minutesAgo);
  await answer(good, delivered(20));
  await rateQuality({ pool, now });
  expect(await way()).toEqual([cheap, good]);
  // Of all 190 samples, 84 % were delivered.
  await answer(cheap, lost(30));
  await rateQuality({ pool, now });
  expect(await way()).toEqual([good, cheap]);
  const question = { destination: '+393331234567', accountId: null, sender: null, network: null, at: null };
  const shown = (await explainRoute(pool, question)).routes.find(({ connectionId }) => connectionId === cheap);
  expect(shown).toMatchObject({ standing: 'below', quality: { messages: 110, delivered: 80 } });
});

test('figures that are older than a policy looks back do not count', async () => {
  await policy({ hours: 1 });
  await answer(cheap, lost(20), 90);
  await rateQuality({ pool, now });
  const { count } = await one<{ count: number }>(pool, sql`SELECT count(*) FROM route_standing`);
  expect(count).toBe(0);
});

test('every process hears of a changed standing, and of none that stays', async () => {
  const heard: string[] = [];
  const session = await openWorkerSession({ connectionString, log: silentLog });
  await session.listen({ [ROUTING_CHANNEL]: (payload) => void heard.push(payload) });
  await policy();
  await answer(cheap, lost(20));
  await rateQuality({ pool, now });
  await expect.poll(() => heard.length).toBe(2);
  await answer(cheap, lost(20));
  await rateQuality({ pool, now });
  await exec(pool, sql`SELECT pg_notify(${ROUTING_CHANNEL}, 'last')`);
  await expect.poll(() => heard.length).toBe(3);
  await session.close();
});

const result = (more: Partial<Result> = {}, destination = '+393331234567'): Result => ({
  accountId: 7,
  messageId: newId(),
  connectionId: 1,
  attempt: 1,
  outcome: { kind: 'accepted', carrierIds: ['x'] },
  answeredAt: new Date(),
  resubmit: false,
  job: {
    messageId: '',
    destination,
    sender: '',
    body: '',
    validUntil: null,
    wantReceipt: true,
    parts: 1,
    priceMicros: 0,
    refundUndelivered: false,
    channel: 'SMS',
    campaignId: null,
    keepsReserve: false,
  },
  ...more,
});

test('of each connection and country a few messages are samples, however many there are', () => {
  const sampler = createSampler();
  for (let i = 0; i < 50; i++) sampler.note(Array.from({ length: 1000 }, () => result()));
  sampler.note([result({ connectionId: 2 }), result({}, '+33612345678')]);
  const taken = sampler.take();
  expect(taken.filter(({ connectionId, country }) => connectionId === 1 && country === '39')).toHaveLength(5);
  expect(taken.map(({ connectionId, country }) => `${connectionId}/${country}`)).toContain('2/39');
  expect(taken.map(({ country }) => country)).toContain('33');
  expect(sampler.take()).toEqual([]);
});

test('samples are spread over all messages, not the first of them', () => {
  const places: number[] = [];
  for (let run = 0; run < 200; run++) {
    const sampler = createSampler();
    const results = Array.from({ length: 50 }, () => result());
    for (const each of results) sampler.note([each]);
    places.push(...sampler.take().map(({ messageId }) => results.findIndex((each) => each.messageId === messageId)));
  }
  // A thousand places from 0 to 49: their mean is 24.5 with a standard deviation of 0.46.
  expect(Math.abs(places.reduce((sum, place) => sum + place, 0) / places.length - 24.5)).toBeLessThan(2.3);
});

test('what cannot tell the quality of a connection is no sample', () => {
  const sampler = createSampler();
  const { job } = result();
  sampler.note([
    result({ job: null }),
    result({ job: job && { ...job, wantReceipt: false } }),
    result({ job: job && { ...job, channel: 'RCS' } }),
    result({ outcome: { kind: 'retry', afterMs: 0, counts: true, code: 'X', text: '' } }),
    result({}, '+999'),
  ]);
  expect(sampler.take()).toEqual([]);
});
