import { beforeAll, expect, test } from 'vitest';
import { type CampaignStage, openCampaignStage } from '../../test/support/campaigns/stage.ts';
import { testDatabase } from '../../test/support/database.ts';
import { systemAuthor } from '../accounts/audit.ts';
import { exec, sql } from '../core/db/query.ts';
import { tenantTransaction } from '../core/db/transaction.ts';
import { repeatCampaign } from './recipients.ts';
import { findCampaign } from './store.ts';

const { pool } = testDatabase();

let stage: CampaignStage;
beforeAll(async () => {
  stage = await openCampaignStage(pool);
});

const NUMBERS = ['+393331000001', '+393331000002', '+393331000003', '+393331000004'];
type Again = Omit<Parameters<typeof repeatCampaign>[2], 'now' | 'name'>;

async function again(input: Again, accountId = stage.accountId): Promise<string[]> {
  const actor = systemAuthor(accountId);
  return tenantTransaction(pool, { accountId }, async (tx) => {
    const { id } = await repeatCampaign(tx, actor, { ...input, name: 'Again', now: new Date() });
    const made = await findCampaign(tx, { accountId, id });
    expect(made).toMatchObject({ name: 'Again', status: 0, confirmedAt: null, scheduledAt: null, smsBody: 'Hello' });
    return made?.destinations ?? [];
  });
}

test('the draft is for those whose last message ended undelivered: not for the delivered, open and unknown ones', async () => {
  const id = await stage.confirmed({ numbers: NUMBERS });
  await stage.run();
  const ids = (await stage.messages(id)).map((message) => message.id);
  await expect(again({ id })).rejects.toThrow('no recipients');
  await stage.accept(ids.slice(0, 3));
  await stage.end(ids.slice(0, 1), 'DELIVERED');
  await stage.end(ids.slice(1, 2), 'UNDELIVERABLE');
  await stage.refuse(ids.slice(3));
  expect(await again({ id })).toEqual(['+393331000002', '+393331000004']);
  expect(await again({ id, statuses: ['REJECTED'] })).toEqual(['+393331000004']);
  await expect(again({ id, statuses: ['EXPIRED'] })).rejects.toThrow('no recipients');
});

test('in a combined mode the last channel decides, and recipients to whom any message was delivered are excluded', async () => {
  await exec(
    pool,
    sql`INSERT INTO sender (channel, identity, connection_id, owner_id, name)
    SELECT 'WHATSAPP', '1', id, ${stage.accountId}, '' FROM connection LIMIT 1 ON CONFLICT DO NOTHING`,
  );
  const id = await stage.confirmed({ mode: 'WHATSAPP_SMS', numbers: NUMBERS.slice(0, 2) });
  await stage.run();
  const first = (await stage.messages(id)).map((message) => message.id);
  await stage.accept(first);
  await stage.end(first, 'UNDELIVERABLE');
  await stage.run();
  const second = (await stage.messages(id)).filter(({ channel }) => channel === 'SMS').map((message) => message.id);
  await stage.accept(second);
  await stage.end(second.slice(0, 1), 'DELIVERED');
  await stage.end(second.slice(1), 'EXPIRED');
  expect(await again({ id })).toEqual(['+393331000002']);
});

test('a campaign of another account is not found', async () => {
  const id = await stage.confirmed({ numbers: NUMBERS });
  await expect(again({ id }, stage.accountId + 1000)).rejects.toThrow('Not found');
});
