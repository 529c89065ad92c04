import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { newKey, openRoutes, PG } from '../../test/support/http/routes.ts';
import { standbyReports } from '../../test/support/http/standby.ts';
import { reset } from '../../test/support/reset.ts';
import { runs } from '../../test/support/runs.ts';
import { SCOPES } from '../core/actor.ts';
import { bitOf, CHANNELS, type Channel } from '../core/channels.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { firstIdAt } from '../core/ids.ts';
import { countTraffic, foldTraffic } from '../messages/traffic.ts';
import { statsRoutes } from './stats.ts';

const PRICE_MICROS = 45_000;

const { pool, account, otherAccount, get, ...routes } = await openRoutes([statsRoutes], {
  base: `${PG}/campaigns`,
  deps: { reports: standbyReports(() => pool) },
});
afterAll(() => routes[Symbol.asyncDispose]());
beforeEach(() => reset(pool, sql`TRUNCATE traffic_hour, traffic_day, campaign, campaign_run`));

const stats = async (query: string) => (await get(`/stats?${query}`)).body;
const MARCH = 'startDate=2026-03-01&endDate=2026-03-31';

type NewCampaign = { mode?: string; createdAt: string; startedAt?: string; skipped?: number; accountId?: number };

async function newCampaign({ mode = 'SMS', createdAt, startedAt, skipped = 0, accountId }: NewCampaign) {
  const owner = accountId ?? account.accountId;
  const start = startedAt ?? null;
  const { id } = await one<{ id: number }>(
    pool,
    sql`INSERT INTO campaign (account_id, name, status, sending_mode, created_at, confirmed_at, started_at)
      VALUES (${owner}, 'Spring', ${start === null ? 0 : 2}, ${mode}, ${createdAt}, ${start}, ${start}) RETURNING id`,
  );
  if (start !== null)
    await exec(
      pool,
      sql`INSERT INTO campaign_run (account_id, campaign_id, skipped) VALUES (${owner}, ${id}, ${skipped})`,
    );
  return id;
}

const OUTCOMES = {
  waiting: {},
  accepted: { sent: 1, costMicros: PRICE_MICROS },
  delivered: { sent: 1, delivered: 1, costMicros: PRICE_MICROS },
  read: { sent: 1, delivered: 1, read: 1, costMicros: PRICE_MICROS },
  refused: { sent: 1, failed: 1 },
  cancelled: { failed: 1, unsent: 1 },
} as const;
type Outcome = keyof typeof OUTCOMES;
type Message = { campaignId: number | null; at: string; channel?: Channel; outcome: Outcome; accountId?: number };

/** Counts traffic as the program does, each message in its own transaction. */
async function count(messages: readonly Message[]): Promise<void> {
  for (const { campaignId, at, channel = 'SMS', outcome, accountId = account.accountId } of messages) {
    const what = { accountId, campaignId, id: firstIdAt(new Date(at)), channel: bitOf(channel) };
    await countTraffic(pool, [{ ...what, ...OUTCOMES[outcome] }]);
  }
}
const fold = (): Promise<number> => foldTraffic(pool, () => new Date('2026-03-20T00:00:00Z'));

const EMPTY = { campaigns: 1, sent: 0, delivered: 0, read: 0, failed: 0, pending: 0, skipped: 0, cost: 0 };

type Counted = { sent: number; delivered: number; read: number; failed: number; pending: number };

/** Returns a bucket with its counts repeated under the name of what they count: messages. */
const named = <B extends Counted>(bucket: B) => {
  const { sent, delivered, read, failed, pending } = bucket;
  return { ...bucket, messages: { sent, delivered, read, failed, pending } };
};

describe('of all campaigns', () => {
  test('each message counts with its outcome when it was accepted, folded or not', async () => {
    const first = await newCampaign({ createdAt: '2026-03-01T08:00Z', startedAt: '2026-03-02T23:30Z', skipped: 4 });
    const second = await newCampaign({ createdAt: '2026-03-02T08:00Z', startedAt: '2026-03-03T10:00Z', skipped: 1 });
    await count([
      { campaignId: first, at: '2026-03-02T23:59:59.999Z', outcome: 'read' },
      { campaignId: first, at: '2026-03-03T00:00Z', outcome: 'delivered' },
      { campaignId: second, at: '2026-03-03T10:00Z', outcome: 'accepted' },
      { campaignId: second, at: '2026-03-03T11:00Z', outcome: 'refused' },
      { campaignId: second, at: '2026-03-03T11:00Z', outcome: 'cancelled' },
      { campaignId: null, at: '2026-03-03T11:00Z', outcome: 'delivered' },
      { campaignId: second, at: '2026-04-01T00:00Z', outcome: 'delivered' },
    ]);
    const expected = {
      page: 0,
      limit: 10,
      total: 2,
      data: [
        named({
          ...EMPTY,
          bucket: '2026-03-02T00:00:00.000Z',
          sent: 1,
          delivered: 1,
          read: 1,
          skipped: 4,
          cost: 0.045,
        }),
        named({
          bucket: '2026-03-03T00:00:00.000Z',
          campaigns: 2,
          sent: 3,
          delivered: 1,
          read: 0,
          failed: 2,
          pending: 1,
          skipped: 1,
          cost: 0.09,
        }),
      ],
    };
    expect(await stats(MARCH)).toEqual(expected);
    expect(await fold()).toBeGreaterThan(0);
    expect(await stats(MARCH)).toEqual(expected);
  });

  test('buckets are hours, days, weeks from Monday, or months; the first contains only what lies in the range', async () => {
    const campaignId = await newCampaign({ createdAt: '2026-02-01T00:00Z', startedAt: '2026-02-01T00:00Z' });
    const times = ['2026-03-01T22:59Z', '2026-03-01T23:00Z', '2026-03-02T00:00Z', '2026-03-08T23:59Z'];
    await count(times.map((at) => ({ campaignId, at, outcome: 'delivered' })));
    const buckets = async (query: string) =>
      (await stats(query)).data.map((b: { bucket: string; sent: number }) => [b.bucket.slice(0, 13), b.sent]);
    expect(await buckets(`${MARCH}&aggregateOn=hour`)).toEqual([
      ['2026-03-01T22', 1],
      ['2026-03-01T23', 1],
      ['2026-03-02T00', 1],
      ['2026-03-08T23', 1],
    ]);
    expect(await buckets(`${MARCH}&aggregateOn=week`)).toEqual([
      ['2026-02-23T00', 2],
      ['2026-03-02T00', 2],
    ]);
    expect(await buckets(`${MARCH}&aggregateOn=month`)).toEqual([['2026-03-01T00', 4]]);
    expect(await buckets('startDate=2026-03-02&endDate=2026-03-08&aggregateOn=month')).toEqual([['2026-03-01T00', 2]]);
  });

  test('direction and page select buckets in the order of time, and the total stays the same even beyond the last page', async () => {
    const campaignId = await newCampaign({ createdAt: '2026-03-01T00:00Z', startedAt: '2026-03-01T00:00Z' });
    await count(
      ['01', '02', '03'].map((day) => ({ campaignId, at: `2026-03-${day}T05:00Z`, outcome: 'accepted' as const })),
    );
    const page = async (query: string) => {
      const { data, total } = await stats(`${MARCH}&limit=2&${query}`);
      return [data.map((b: { bucket: string }) => b.bucket.slice(8, 10)), total];
    };
    expect(await page('')).toEqual([['01', '02'], 3]);
    expect(await page('page=1')).toEqual([['03'], 3]);
    expect(await page('direction=DESC')).toEqual([['03', '02'], 3]);
    expect(await page('direction=DESC&page=1')).toEqual([['01'], 3]);
    expect(await page('page=7')).toEqual([[], 3]);
  });

  test('sendingMode selects campaigns with exactly these modes, whatever channel a message went over', async () => {
    const at = '2026-03-05T10:00Z';
    for (const mode of ['SMS', 'RCS', 'RCS_SMS'] as const) {
      const campaignId = await newCampaign({ mode, createdAt: at, startedAt: at, skipped: 1 });
      await newCampaign({ mode, createdAt: at });
      const channel = mode === 'RCS' ? 'RCS' : 'SMS';
      await count([{ campaignId, at, channel, outcome: 'delivered' }]);
    }
    for (const folded of [false, true]) {
      if (folded) await fold();
      const of = async (query: string) => (await stats(`${MARCH}${query}`)).data[0];
      expect(await of('')).toMatchObject({ campaigns: 6, sent: 3, skipped: 3 });
      expect(await of('&sendingMode=SMS')).toMatchObject({ campaigns: 2, sent: 1, skipped: 1 });
      expect(await of('&sendingMode=RCS,RCS_SMS')).toMatchObject({ campaigns: 4, sent: 2, skipped: 2 });
      expect(await of('&sendingMode=WHATSAPP')).toBeUndefined();
    }
  });

  test('a draft counts when it was created, unless isDraft=false; a scheduled campaign does not', async () => {
    await newCampaign({ createdAt: '2026-03-05T10:00Z' });
    const scheduled = await newCampaign({ createdAt: '2026-03-06T10:00Z' });
    await exec(pool, sql`UPDATE campaign SET status = 1, confirmed_at = now() WHERE id = ${scheduled}`);
    const draft = named({ ...EMPTY, bucket: '2026-03-05T00:00:00.000Z' });
    expect((await stats(MARCH)).data).toEqual([draft]);
    expect((await stats(`${MARCH}&isDraft=true`)).data).toEqual([draft]);
    expect(await stats(`${MARCH}&isDraft=false`)).toMatchObject({ data: [], total: 0 });
  });

  test('traffic of other accounts is not counted', async () => {
    const at = '2026-03-05T10:00Z';
    const { accountId } = otherAccount;
    const campaignId = await newCampaign({ createdAt: at, startedAt: at, skipped: 2, accountId });
    await newCampaign({ createdAt: at, accountId });
    await count([{ campaignId, at, outcome: 'delivered', accountId }]);
    expect(await stats(MARCH)).toMatchObject({ data: [], total: 0 });
    await fold();
    expect(await stats(MARCH)).toMatchObject({ data: [], total: 0 });
    expect((await get(`/stats?${MARCH}`, otherAccount.apiKey)).body.total).toBe(1);
  });

  test.each([
    ['', ['startDate', 'endDate']],
    ['startDate=2026-03-01', ['endDate']],
    ['startDate=01.03.2026&endDate=2026-02-30', ['startDate', 'endDate']],
    ['startDate=2026-03-02&endDate=2026-03-01', ['endDate']],
    ['startDate=2016-03-01&endDate=2026-03-02', ['endDate']],
    [`${MARCH}&aggregateOn=year&direction=up&isDraft=maybe`, ['aggregateOn', 'isDraft', 'direction']],
    [`${MARCH}&sendingMode=SMS,FAX&limit=1001&page=-1`, ['sendingMode', 'limit', 'page']],
  ])('%j is 400 and names every field at fault', async (query, fields) => {
    const { status, body } = await get(`/stats?${query}`);
    expect(status).toBe(400);
    expect(body.details.map(({ field }: { field: string }) => field).toSorted()).toEqual(fields.toSorted());
  });

  test.each(['startDate=2016-03-01&endDate=2026-03-01', 'startDate=0001-01-01&endDate=0001-01-01'])(
    '%s is a range like others',
    async (query) => expect(await stats(query)).toMatchObject({ data: [], total: 0 }),
  );

  test('the first and the last representable days work like all others', async () => {
    for (const day of ['0000-01-01', '9999-12-31'])
      expect((await get(`/stats?startDate=${day}&endDate=${day}`)).status).toBe(200);
  });

  test('a caller without the scope money sees no cost', async () => {
    const startedAt = '2026-03-02T23:30Z';
    const id = await newCampaign({ createdAt: startedAt, startedAt });
    await count([{ campaignId: id, at: '2026-03-03T00:10Z', outcome: 'delivered' }]);
    await fold();
    const key = await newKey(pool, account, ['campaigns']);
    const [all, single] = [(await get(`/stats?${MARCH}`, key)).body, (await get(`/${id}/stats`, key)).body];
    const costs = [...all.data, ...single.data, ...single.data[0].channels].map(({ cost }: { cost: unknown }) => cost);
    expect(costs.length).toBeGreaterThan(2);
    expect(new Set(costs)).toEqual(new Set([null]));
  });

  test('a caller without the scope campaigns is refused', async () => {
    const operations = SCOPES.filter((scope) => scope !== 'campaigns');
    const apiKey = await newKey(pool, account, operations);
    expect((await get(`/stats?${MARCH}`, apiKey)).status).toBe(403);
    expect((await get('/1/stats', apiKey)).status).toBe(403);
  });
});

describe('of one campaign', () => {
  test('buckets also list each channel, and skipped recipients count where the campaign began', async () => {
    const startedAt = '2026-03-02T23:30Z';
    const id = await newCampaign({ mode: 'RCS_SMS', createdAt: startedAt, startedAt, skipped: 3 });
    const other = await newCampaign({ createdAt: startedAt, startedAt });
    await count([
      { campaignId: id, at: '2026-03-03T00:10Z', channel: 'RCS', outcome: 'read' },
      { campaignId: id, at: '2026-03-03T00:10Z', channel: 'RCS', outcome: 'refused' },
      { campaignId: id, at: '2026-03-03T07:15Z', channel: 'SMS', outcome: 'accepted' },
      { campaignId: other, at: '2026-03-03T00:15Z', outcome: 'delivered' },
    ]);
    await fold();
    const begun = named({ ...EMPTY, bucket: '2026-03-02T00:00:00.000Z', skipped: 3, channels: [] });
    const sent = named({
      ...EMPTY,
      bucket: '2026-03-03T00:00:00.000Z',
      sent: 3,
      delivered: 1,
      read: 1,
      failed: 1,
      pending: 1,
      cost: 0.09,
      channels: [
        { channel: 'SMS', sent: 1, delivered: 0, read: 0, failed: 0, pending: 1, cost: 0.045 },
        { channel: 'RCS', sent: 2, delivered: 1, read: 1, failed: 1, pending: 0, cost: 0.045 },
      ],
    });
    expect((await get(`/${id}/stats`)).body).toEqual({ page: 0, limit: 10, total: 2, data: [begun, sent] });
    expect((await get(`/${id}/stats?direction=DESC&limit=1`)).body).toMatchObject({ total: 2, data: [sent] });
    expect((await get(`/${id}/stats?limit=1&page=1`)).body.data).toEqual([sent]);
    expect((await get(`/${id}/stats?startDate=2026-03-03`)).body.data).toEqual([sent]);
    expect((await get(`/${id}/stats?endDate=2026-03-02`)).body.data).toEqual([begun]);
    expect((await get(`/${id}/stats?aggregateOn=month`)).body.data).toMatchObject([{ sent: 3, skipped: 3 }]);
    expect((await get(`/${id}/stats?aggregateOn=hour`)).body.total).toBe(3);
  });

  test('a draft has no buckets', async () => {
    const id = await newCampaign({ createdAt: '2026-03-05T10:00Z' });
    expect((await get(`/${id}/stats`)).body).toEqual({ page: 0, limit: 10, total: 0, data: [] });
  });

  test('a campaign of another account is like one that does not exist', async () => {
    const id = await newCampaign({ createdAt: '2026-03-05T10:00Z', accountId: otherAccount.accountId });
    const [foreign, unknown] = [await get(`/${id}/stats`), await get('/9000000000/stats')];
    expect(foreign.status).toBe(404);
    expect({ ...foreign.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' });
  });
});

const UNITS = ['hour', 'day', 'week', 'month'] as const;

function startOf(at: string, unit: (typeof UNITS)[number]): string {
  const date = new Date(at);
  date.setUTCMinutes(0, 0, 0);
  if (unit !== 'hour') date.setUTCHours(0);
  if (unit === 'week') date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  if (unit === 'month') date.setUTCDate(1);
  return date.toISOString();
}

const anyMessage = fc.record({
  campaign: fc.nat(2),
  at: fc.date({ min: new Date('2026-01-25T00:00Z'), max: new Date('2026-03-07T23:59Z'), noInvalidDate: true }),
  channel: fc.constantFrom(...CHANNELS),
  outcome: fc.constantFrom(...(Object.keys(OUTCOMES) as Outcome[]).filter((outcome) => outcome !== 'waiting')),
  /** The hours that are folded first, folded later, and not folded. */
  turn: fc.nat(2),
});

test('whatever was sent and however much is folded, the buckets agree with the messages and add up to them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyMessage, { maxLength: 25 }), fc.constantFrom(...UNITS), async (sent, unit) => {
      await reset(pool, sql`TRUNCATE traffic_hour, traffic_day, campaign, campaign_run`);
      const ids: number[] = [];
      for (const _ of [0, 1, 2]) ids.push(await newCampaign({ createdAt: '2025-01-01T00:00Z' }));
      const messages = sent.map(({ campaign, at, ...rest }) => ({
        ...rest,
        campaignId: ids[campaign] ?? 0,
        at: at.toISOString(),
      }));
      for (const turn of [0, 1, 2]) {
        await fold();
        await count(messages.filter((message) => message.turn === turn));
      }

      const inRange = messages.filter(({ at }) => at >= '2026-01-28' && at < '2026-03-04');
      const starts = [...new Set(inRange.map(({ at }) => startOf(at, unit)))].toSorted();
      const query = `startDate=2026-01-28&endDate=2026-03-03&aggregateOn=${unit}&limit=1000`;
      const { data, total } = await stats(query);
      expect(total).toBe(starts.length);
      expect(data).toEqual(
        starts.map((start) =>
          model(
            start,
            inRange.filter(({ at }) => startOf(at, unit) === start),
          ),
        ),
      );
      const second = await stats(`${query.replace('limit=1000', 'limit=3')}&page=1&direction=DESC`);
      expect(second).toMatchObject({ total, data: data.toReversed().slice(3, 6) });
      const all = model('', inRange);
      for (const name of ['sent', 'delivered', 'read', 'failed', 'pending'] as const)
        expect(data.reduce((sum: number, bucket: Counted) => sum + bucket[name], 0)).toBe(all[name]);

      const ofOne = (await get(`/${ids[0]}/stats?${query}`)).body.data;
      const own = inRange.filter(({ campaignId }) => campaignId === ids[0]);
      expect(ofOne.map((b: { bucket: string; sent: number }) => [b.bucket, b.sent])).toEqual(
        starts.flatMap((start) => {
          const there = own.filter(({ at }) => startOf(at, unit) === start);
          return there.length > 0 ? [[start, model(start, there).sent]] : [];
        }),
      );
    }),
    { numRuns: runs(6) },
  );
});

function model(bucket: string, messages: readonly { outcome: Outcome; campaignId: number }[]) {
  const of = (...outcomes: Outcome[]): number => messages.filter(({ outcome }) => outcomes.includes(outcome)).length;
  return named({
    bucket,
    campaigns: new Set(messages.map(({ campaignId }) => campaignId)).size,
    sent: of('accepted', 'delivered', 'read', 'refused'),
    delivered: of('delivered', 'read'),
    read: of('read'),
    failed: of('refused', 'cancelled'),
    pending: of('accepted'),
    skipped: 0,
    cost: (of('accepted', 'delivered', 'read') * PRICE_MICROS) / 1_000_000,
  });
}

test('figures that come from a standby say how old they are', async () => {
  const id = await newCampaign({ createdAt: '2026-03-02T00:00:00Z', startedAt: '2026-03-02T00:00:00Z' });
  for (const path of [`/stats?${MARCH}`, `/${id}/stats`, `/${id}/funnel`]) {
    const url = `${PG}/campaigns${path}`;
    const answer = await routes.app.inject({ url, headers: { 'x-api-key': account.apiKey } });
    expect([path, answer.statusCode, answer.headers['x-data-age']]).toEqual([path, 200, '0.250']);
  }
});
