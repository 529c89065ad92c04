import { afterAll, describe, expect, test } from 'vitest';
import { mobileNumbers } from '../../test/support/campaigns/campaign.ts';
import { type CampaignStage, openCampaignStage } from '../../test/support/campaigns/stage.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { actor } from '../../test/support/drafts.ts';
import { readBooks } from '../../test/support/money.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { HOUR_MS } from '../core/time.ts';
import { SENDING_MODES, type SendingMode } from './audience.ts';
import { toCampaignOut } from './campaign.ts';
import { cancelCampaign, pauseCampaign } from './lifecycle.ts';
import { findRecipients, toRecipientOut } from './recipients.ts';
import { type CampaignRow, findCampaign } from './store.ts';

const database = await createTestDatabase();
const { pool } = database;
afterAll(() => database[Symbol.asyncDispose]());

const NUMBERS = mobileNumbers(40);
/** Recipients a second, so that some have a message and others do not yet. */
const RATE = 10;

async function begun(mode: SendingMode, rate = RATE): Promise<{ stage: CampaignStage; id: number }> {
  await reset(pool, sql`TRUNCATE campaign_job, campaign_outcome, dispatch_chunk`);
  const stage = await openCampaignStage(pool);
  const id = await stage.confirmed({ mode, numbers: NUMBERS, rate });
  const audience = JSON.stringify({ skipped: {}, skippedTotal: 0, total: NUMBERS.length });
  await exec(
    pool,
    sql`UPDATE campaign SET audience = audience || ${audience}::jsonb, total_destinations = ${NUMBERS.length} WHERE id = ${id}`,
  );
  return { stage, id };
}

async function rowOf({ accountId }: CampaignStage, id: number): Promise<CampaignRow> {
  const row = await findCampaign(pool, { accountId, id });
  if (!row) throw new Error('it is gone');
  return row;
}

async function totalsOf(stage: CampaignStage, id: number) {
  const campaign = toCampaignOut(await rowOf(stage, id), actor(stage.accountId));
  const { totalSuccess, totalFailed, totalPending, totalSkipped, totalCancelled } = campaign;
  expect(totalSuccess + totalFailed + totalPending + totalSkipped + totalCancelled).toBe(NUMBERS.length);
  expect(campaign.paused && campaign.cancelled).toBe(false);
  return { status: campaign.status, totalSuccess, totalFailed, totalPending, totalSkipped, totalCancelled };
}

async function listed(stage: CampaignStage, id: number, status?: 'PENDING' | 'DELETED' | 'SKIPPED') {
  const campaign = await rowOf(stage, id);
  const which = { accountId: stage.accountId, campaign, status, now: new Date(), limit: 1000, offset: 0 };
  const { rows, total } = await findRecipients(pool, which);
  const statuses = rows.map((row) => toRecipientOut(row, campaign, { operations: new Set() }).status);
  expect(total).toBe(statuses.length);
  return statuses;
}

const cancel = ({ accountId }: CampaignStage, id: number) =>
  transaction(pool, (tx) => cancelCampaign(tx, actor(accountId), { id }));

test('a campaign says how many messages are open, and until when it waits for them once all are made', async () => {
  const { stage, id } = await begun('SMS', 1);
  const shown = async () => {
    const { openMessages, completesBy } = toCampaignOut(await rowOf(stage, id), actor(stage.accountId));
    return { openMessages, hours: completesBy && Math.round((Date.parse(completesBy) - Date.now()) / HOUR_MS) };
  };
  await stage.run();
  const first = await shown();
  expect([first.openMessages > 0, first.openMessages < NUMBERS.length, first.hours]).toEqual([true, true, null]);
  await exec(pool, sql`UPDATE campaign SET rate = NULL WHERE id = ${id}`);
  await stage.run();
  expect(await shown()).toEqual({ openMessages: NUMBERS.length, hours: 72 });
  const [silent, ...others] = (await stage.messages(id)).map((message) => message.id);
  await stage.accept([silent ?? '', ...others]);
  await stage.end(others, 'DELIVERED');
  await stage.run();
  expect(await shown()).toEqual({ openMessages: 1, hours: 72 });
  await stage.end([silent ?? ''], 'EXPIRED');
  await stage.run();
  expect(await shown()).toEqual({ openMessages: 0, hours: null });
});

describe('after a cancellation', () => {
  test.each(SENDING_MODES)('%s counts the remaining recipients as cancelled, and none stays pending', async (mode) => {
    const { stage, id } = await begun(mode);
    await stage.run();
    const made = await stage.messages(id);
    expect(await totalsOf(stage, id)).toMatchObject({ totalPending: NUMBERS.length, totalCancelled: 0 });
    const [delivered, failed] = [made[0]?.id ?? '', made[1]?.id ?? ''];
    await cancel(stage, id);
    await totalsOf(stage, id);
    expect(await listed(stage, id, 'PENDING')).toEqual([]);
    // Two of those that wait have reached a carrier before: the others are withdrawn.
    await exec(
      pool,
      sql`UPDATE dispatch_chunk SET ids = array_remove(array_remove(ids, ${delivered}::uuid), ${failed}::uuid)
          WHERE campaign_id = ${id}`,
    );
    await stage.accept([delivered, failed]);
    await stage.run();
    await stage.end([delivered], 'DELIVERED');
    await totalsOf(stage, id);
    await stage.end([failed], 'UNDELIVERABLE');
    await stage.run();
    const totals = { totalSuccess: 1, totalFailed: 1, totalPending: 0, totalSkipped: 0, totalCancelled: 38 };
    expect(await totalsOf(stage, id)).toEqual({ status: 3, ...totals });
    const all = await listed(stage, id);
    expect([all.length, all.filter((status) => status === 'DELETED').length]).toEqual([40, 38]);
    expect(await listed(stage, id, 'DELETED')).toHaveLength(38);
    expect((await readBooks(pool, stage.accountId)).frozen).toBe(0);
  });

  test('recipients who were not even listed are listed and counted, and a pause is over', async () => {
    const { stage, id } = await begun('SMS');
    await transaction(pool, (tx) => pauseCampaign(tx, actor(stage.accountId), { id }));
    await cancel(stage, id);
    await stage.run();
    expect(await totalsOf(stage, id)).toMatchObject({ status: 3, totalCancelled: NUMBERS.length });
    expect(await listed(stage, id)).toEqual(NUMBERS.map(() => 'DELETED'));
  });
});

test.each(SENDING_MODES)('%s of a suspended account skips all recipients, and records it for each', async (mode) => {
  const { stage, id } = await begun(mode);
  await exec(pool, sql`UPDATE account SET status = 'suspended' WHERE id = ${stage.accountId}`);
  await stage.run();
  const totals = { totalSuccess: 0, totalFailed: 0, totalPending: 0, totalSkipped: NUMBERS.length, totalCancelled: 0 };
  expect(await totalsOf(stage, id)).toEqual({ status: 4, ...totals });
  expect(await listed(stage, id)).toEqual(NUMBERS.map(() => 'SKIPPED'));
  expect(await listed(stage, id, 'SKIPPED')).toHaveLength(NUMBERS.length);
  expect(await listed(stage, id, 'PENDING')).toEqual([]);
  const campaign = await rowOf(stage, id);
  const all = { accountId: stage.accountId, campaign, status: undefined, now: new Date(), limit: 1000, offset: 0 };
  const { rows } = await findRecipients(pool, all);
  expect(new Set(rows.map((row) => toRecipientOut(row, campaign, { operations: new Set() }).skipReason))).toEqual(
    new Set(['suspended']),
  );
});
