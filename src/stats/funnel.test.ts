import { beforeAll, expect, test } from 'vitest';
import { type CampaignStage, openCampaignStage } from '../../test/support/campaigns/stage.ts';
import { testDatabase } from '../../test/support/database.ts';
import { tenant } from '../core/db/transaction.ts';
import { findFunnel, toFunnelOut } from './results.ts';

const { pool } = testDatabase();

let stage: CampaignStage;
beforeAll(async () => {
  stage = await openCampaignStage(pool);
});

const NUMBERS = ['+393331000001', '+393331000002', '+393331000003', '+393331000004'];
async function funnelOf(campaignId: number) {
  const { accountId } = stage;
  const row = await findFunnel(tenant(pool, { accountId }), { accountId, campaignId });
  return row && toFunnelOut(row);
}
const NOTHING = { attempted: 0, delivered: 0, read: 0, failed: 0, fellBack: 0, notTried: 0, pending: 0 };

test('each channel shows how many were attempted, delivered, failed and followed by another channel', async () => {
  const id = await stage.confirmed({ mode: 'WHATSAPP_RCS_SMS', numbers: NUMBERS });
  expect(await funnelOf(id)).toEqual({
    recipients: 0,
    skipped: 0,
    waiting: 0,
    steps: (['WHATSAPP', 'RCS', 'SMS'] as const).map((channel, i) => ({ step: i + 1, channel, ...NOTHING })),
  });
  await stage.run();
  expect(await funnelOf(id)).toMatchObject({ recipients: 4, waiting: 0, steps: [NOTHING, NOTHING, NOTHING] });
  const first = (await stage.messages(id)).map((message) => message.id);
  await stage.accept(first);
  await stage.end(first.slice(0, 1), 'DELIVERED');
  await stage.end(first.slice(1, 3), 'UNDELIVERABLE');
  await stage.run();
  const second = (await stage.messages(id)).filter(({ channel }) => channel === 'RCS').map((message) => message.id);
  await stage.accept(second.slice(0, 1));
  await stage.end(second.slice(0, 1), 'UNSUPPORTED');
  await stage.run();
  expect(await funnelOf(id)).toEqual({
    recipients: 4,
    skipped: 0,
    waiting: 0,
    steps: [
      { ...NOTHING, step: 1, channel: 'WHATSAPP', attempted: 4, delivered: 1, failed: 2, fellBack: 2, pending: 1 },
      { ...NOTHING, step: 2, channel: 'RCS', attempted: 1, failed: 1, fellBack: 1 },
      { ...NOTHING, step: 3, channel: 'SMS' },
    ],
  });
});

test('a campaign of another account is not found', async () => {
  const id = await stage.confirmed({ numbers: NUMBERS });
  const otherAccount = stage.accountId + 1000;
  expect(
    await findFunnel(tenant(pool, { accountId: otherAccount }), { accountId: otherAccount, campaignId: id }),
  ).toBeUndefined();
});
