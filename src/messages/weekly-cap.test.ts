import { beforeAll, expect, test } from 'vitest';
import { openCampaignStage } from '../../test/support/campaigns/stage.ts';
import { testDatabase } from '../../test/support/database.ts';
import { actor, draft, flatPrice, freeOver } from '../../test/support/drafts.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { NO_SENDING_RULES } from '../core/actor.ts';
import { countOverWeeklyCap, loadPlan } from '../campaigns/create.ts';
import { findCampaign } from '../campaigns/store.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { DAY_MS } from '../core/time.ts';
import { createWaker } from '../dispatch/pump.ts';
import { type Accept, createAccept, type Sender } from './accept.ts';
import type { Draft } from './read-send.ts';
import { deleteOldWeeks } from './weekly-cap.ts';

const { pool } = testDatabase();

let accept: Accept;
beforeAll(() => {
  const waker = { ...createWaker(pool), wake: () => undefined };
  const tables = { ...freeOver(() => [1]), findPrice: flatPrice(10) };
  accept = createAccept({ pool, tables, waker, recentMessages: null });
});

const PERSON = '+393331234567';
const marketing = (more: Partial<Draft> = {}): Draft => draft({ destination: PERSON, purpose: 'marketing', ...more });
const capped = (accountId: number, weeklyCap = 3): Sender => ({
  ...actor(accountId),
  sendingRules: { ...NO_SENDING_RULES, weeklyCap },
});
const kinds = (verdicts: readonly { kind: string }[]) => verdicts.map(({ kind }) => kind);
const messagesOf = async (accountId: number): Promise<number> =>
  (await many(pool, sql`SELECT FROM message WHERE account_id = ${accountId}`)).length;

test('exactly as many marketing messages as allowed reach a person, however many are sent at the same time', async () => {
  const id = await createAccountWithCredit(pool, 10_000);
  const by = capped(id, 7);
  const singles = Array.from({ length: 12 }, () => accept.one(by, marketing()));
  const bulk = [1, 2].map(() =>
    accept.many(by, [marketing(), marketing({ destination: '+393331234568' }), marketing()]),
  );
  const verdicts = [...(await Promise.all(singles)), ...(await Promise.all(bulk)).flat()];
  expect(verdicts.filter(({ kind }) => kind === 'accepted')).toHaveLength(7 + 2);
  expect(verdicts.filter((one) => one.kind === 'refused' && one.refusal !== 'weekly_cap')).toEqual([]);
  expect(await messagesOf(id)).toBe(9);
  expect((await readBooks(pool, id)).frozen).toBe(9 * 10);
});

test('a person is the same in every form of the number; other purposes and the next channel do not count', async () => {
  const id = await createAccountWithCredit(pool, 10_000);
  const by = capped(id, 1);
  const [brazil, former] = ['+5511987654321', '+551187654321'];
  expect(
    kinds(await accept.many(by, [marketing({ destination: brazil }), marketing({ destination: former })])),
  ).toEqual(['accepted', 'refused']);
  const others = [
    marketing({ destination: brazil, purpose: 'otp' }),
    marketing({ destination: brazil, isFollowing: true }),
  ];
  expect(kinds(await accept.many(by, others))).toEqual(['accepted', 'accepted']);
});

test('a refused message leaves its client id free, and after seven days the person may get another one', async () => {
  const id = await createAccountWithCredit(pool, 10_000);
  const by = capped(id, 1);
  expect(await accept.one(by, marketing())).toMatchObject({ kind: 'accepted' });
  expect(await accept.one(by, marketing({ clientId: 'offer' }))).toEqual({ kind: 'refused', refusal: 'weekly_cap' });
  const days = (n: number) =>
    exec(
      pool,
      sql`UPDATE marketing_week SET last_at = now() - ${n} * interval '1 day',
            sent_at = ARRAY[now() - ${n} * interval '1 day'] WHERE account_id = ${id}`,
    );
  await days(6.9);
  expect(await accept.one(by, marketing({ clientId: 'offer' }))).toMatchObject({ kind: 'refused' });
  await days(7.1);
  expect(await accept.one(by, marketing({ clientId: 'offer' }))).toMatchObject({ kind: 'accepted' });
  await days(7.1);
  expect(await deleteOldWeeks(pool)).toBeGreaterThan(0);
});

test('a message that the credit does not cover takes no place of the week', async () => {
  const id = await createAccountWithCredit(pool, 10);
  const by = capped(id, 1);
  const verdicts = await accept.many(by, [marketing({ destination: '+393331234560' }), marketing()]);
  expect(kinds(verdicts)).toEqual(['accepted', 'refused']);
  expect(await many(pool, sql`SELECT person FROM marketing_week WHERE account_id = ${id}`)).toEqual([
    { person: '+393331234560' },
  ]);
});

test('campaigns skip people who have had enough, by the lower cap of campaign and account', async () => {
  const stage = await openCampaignStage(pool);
  const { accountId } = stage;
  await exec(pool, sql`UPDATE account SET weekly_cap = 2 WHERE id = ${accountId}`);
  const numbers = ['+4520123450', '+4520123451'];
  const countries = ['DK', 'DK'];
  const run = async (own: number | null): Promise<number> => {
    const id = await stage.confirmed({ numbers, countries, purpose: 'marketing' });
    await exec(pool, sql`UPDATE campaign SET weekly_cap = ${own} WHERE id = ${id}`);
    await stage.run();
    return (await stage.messages(id)).length;
  };
  expect([await run(null), await run(1), await run(9), await run(9)]).toEqual([2, 0, 2, 0]);
  const { skipped } = await one<{ skipped: number }>(
    pool,
    sql`SELECT count(*) AS skipped FROM campaign_recipient WHERE account_id = ${accountId} AND skip_reason = 'weekly_cap'`,
  );
  expect(skipped).toBe(4);

  const id = await stage.confirmed({
    numbers: [...numbers, '+4520123452'],
    countries: [...countries, 'DK'],
    purpose: 'marketing',
  });
  const campaign = await findCampaign(pool, { accountId, id });
  if (!campaign) throw new Error('the campaign is gone');
  const plan = await loadPlan(pool, { accountId, campaign });
  const over = (weeklyCap: number | null, days: number) =>
    countOverWeeklyCap(pool, plan, { weeklyCap, scheduledAt: new Date(Date.now() + days * DAY_MS) });
  expect([await over(null, 0), await over(9, 0), await over(null, 8)]).toEqual([2, 2, 0]);
  const other = await loadPlan(pool, { accountId, campaign: { ...campaign, purpose: 'transactional' } });
  expect(await countOverWeeklyCap(pool, other, { weeklyCap: 1, scheduledAt: null })).toBe(0);
});
