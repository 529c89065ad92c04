import { expect, test } from 'vitest';
import { openCampaignStage } from '../../test/support/campaigns/stage.ts';
import { testDatabase } from '../../test/support/database.ts';
import { actor, draft, freeOver } from '../../test/support/drafts.ts';
import { many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { prepare } from '../messages/prepare.ts';
import { ANY_FORM } from '../routing/sender-rule-store.ts';
import { addPool, addPoolNumber, createSenderRules, pickNumber, setSenderRule } from '../routing/sender-rules.ts';

const { pool } = testDatabase();

const POOL = ['+12025550141', '+12025550142'];
const JOINED = '+12025550143';
const AMERICANS = Array.from({ length: 12 }, (_, n) => `+1312555${1000 + n}`);

type Sent = { readonly destination: string; readonly sender: string; readonly asked: string | null };
const sentBy = (campaignId: number): Promise<Sent[]> =>
  many(
    pool,
    sql`SELECT destination, sender, asked_sender AS asked FROM message WHERE campaign_id = ${campaignId} ORDER BY destination`,
  );

test('a campaign keeps, replaces or may not use its sender by country, as a single send does, and each recipient keeps a number of the pool', async () => {
  const rules = createSenderRules(pool);
  const id = await transaction(pool, async (tx) => {
    const common = { ...ANY_FORM, registeredOnly: false, by: 'Ada' };
    await setSenderRule(tx, { ...common, prefix: '1', alphanumeric: 'replaced', replacement: 'pool:us' });
    await setSenderRule(tx, { ...common, prefix: '65', alphanumeric: 'refused', replacement: null });
    return (await addPool(tx, { name: 'us', ownerId: null, numbers: POOL, by: 'Ada' })).id;
  });
  await rules.reload();
  const stage = await openCampaignStage(pool, undefined, undefined, rules);
  const first = await stage.confirmed({ numbers: ['+393331234567', '+6591234567', ...AMERICANS] });
  await stage.run();
  const sent = await sentBy(first);
  const asked = sent.find(({ destination }) => destination === '+393331234567')?.sender;
  expect(sent.filter(({ destination }) => destination.startsWith('+1'))).toEqual(
    AMERICANS.map((destination) => ({ destination, sender: pickNumber(POOL, destination), asked })),
  );
  expect(sent).toContainEqual({ destination: '+393331234567', sender: asked, asked: null });
  expect(sent).toHaveLength(1 + AMERICANS.length);
  expect(
    await many(
      pool,
      sql`SELECT skip_reason AS reason FROM campaign_recipient WHERE campaign_id = ${first} AND destination = '+6591234567'`,
    ),
  ).toEqual([{ reason: 'sender_not_allowed' }]);

  const single = (destination: string) => {
    const tables = { ...freeOver(() => [1]), senderRules: rules };
    const verdict = prepare(actor(stage.accountId), draft({ destination, sender: asked ?? '' }), tables, () => null);
    return verdict.kind === 'refused' ? verdict.refusal : verdict.message.sender;
  };
  expect(sent.map(({ destination }) => single(destination))).toEqual(sent.map(({ sender }) => sender));
  expect(single('+6591234567')).toBe('sender_not_allowed');

  const moved = AMERICANS.filter((to) => pickNumber([...POOL, JOINED], to) === JOINED);
  expect(await transaction(pool, (tx) => addPoolNumber(tx, { id, number: JOINED, by: 'Ada' }))).toEqual({
    kept: moved.length,
  });
  await rules.reload();
  const second = await stage.confirmed({ numbers: AMERICANS });
  await stage.run();
  expect(await sentBy(second)).toEqual(sent.filter(({ destination }) => destination.startsWith('+1')));
});
