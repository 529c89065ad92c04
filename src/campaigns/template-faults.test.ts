import { beforeEach, expect, test } from 'vitest';
import { mobileNumbers } from '../../test/support/campaigns/campaign.ts';
import { type CampaignStage, openCampaignStage } from '../../test/support/campaigns/stage.ts';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { operatorAuthor } from '../accounts/audit.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { receiveTemplateChanges } from '../templates/sync.ts';
import { resumeCampaign, wakeCampaignsUsing } from './lifecycle.ts';

const { pool } = testDatabase();

let stage: CampaignStage;
beforeEach(async () => {
  await reset(pool, sql`TRUNCATE campaign_job, dispatch_chunk, template`);
  await exec(pool, sql`DELETE FROM route`);
  stage = await openCampaignStage(pool);
});

const WHATSAPP = { mode: 'WHATSAPP', numbers: mobileNumbers(5) } as const;
const REASON = 'whatsappTemplateId 2: the template offer is PAUSED (FIRST_PAUSE), not APPROVED';
const RUNNING = { status: 2, paused: false, reason: null };

/** Simulates a callback of the network about the template of campaigns on WhatsApp. */
async function tell(status: string, reason: string | null = null): Promise<void> {
  const { id } = await one<{ id: number }>(pool, sql`SELECT connection_id AS id FROM template WHERE id = '2'`);
  await receiveTemplateChanges({ pool, onTemplatesChange: wakeCampaignsUsing }, id, [
    { id: '2', status, reason, quality: null },
  ]);
}
const pauseTemplate = () => tell('PAUSED', 'FIRST_PAUSE');
const campaignOf = (id: number) =>
  one<{ status: number; paused: boolean; reason: string | null }>(
    pool,
    sql`SELECT status, paused_at IS NOT NULL AS paused, failure_reason AS reason FROM campaign WHERE id = ${id}`,
  );
const parked = async () =>
  (await many<{ parked: boolean }>(pool, sql`SELECT available_at = 'infinity' AS parked FROM dispatch_chunk`)).map(
    (chunk) => chunk.parked,
  );
const resume = (id: number) => transaction(pool, (tx) => resumeCampaign(tx, operatorAuthor(stage.accountId), { id }));
const idsOf = async (id: number): Promise<string[]> => (await stage.messages(id)).map((message) => message.id);

test('a template that its network pauses also pauses the campaigns that send it, with the reason, and parks their messages', async () => {
  const id = await stage.confirmed(WHATSAPP);
  const other = await stage.confirmed({ mode: 'RCS', numbers: mobileNumbers(5) });
  await stage.run();
  await pauseTemplate();
  await stage.run();
  expect([await campaignOf(id), await campaignOf(other)]).toEqual([
    { status: 2, paused: true, reason: REASON },
    RUNNING,
  ]);
  expect((await parked()).sort()).toEqual([false, true]);
  const audit = await many(
    pool,
    sql`SELECT actor_kind AS kind, action, detail FROM audit_entry WHERE subject = ${`campaign:${id}`}`,
  );
  expect(audit).toEqual([{ kind: 'system', action: 'campaign.pause', detail: { reason: REASON } }]);
});

test('messages of a campaign have its traffic type, instead of that of the template', async () => {
  const id = await stage.confirmed({ mode: 'RCS', numbers: mobileNumbers(1) });
  await exec(pool, sql`UPDATE campaign SET rcs_traffic_type = 'SERVICEREQUEST' WHERE id = ${id}`);
  await stage.run();
  const [messageId] = await idsOf(id);
  const { content } = await one<{ content: object }>(
    pool,
    sql`SELECT content FROM message WHERE id = ${messageId ?? ''}`,
  );
  expect(content).toMatchObject({ trafficType: 'SERVICEREQUEST' });
});

test('the callback makes workers check the campaigns of its template at once, and no others', async () => {
  const id = await stage.confirmed(WHATSAPP);
  await stage.confirmed({ mode: 'RCS', numbers: mobileNumbers(5) });
  await exec(pool, sql`UPDATE campaign_job SET due_at = now() + interval '1 hour'`);
  await pauseTemplate();
  const due = await many(pool, sql`SELECT campaign_id AS id FROM campaign_job WHERE due_at <= now()`);
  expect(due).toEqual([{ id }]);
});

test('it continues when a user resumes it, which is rejected as long as the template may not be sent', async () => {
  const id = await stage.confirmed(WHATSAPP);
  await pauseTemplate();
  await stage.run();
  await expect(resume(id)).rejects.toMatchObject({
    details: [{ field: 'whatsappTemplateId', message: 'the template offer is PAUSED (FIRST_PAUSE), not APPROVED' }],
  });
  await tell('APPROVED');
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ paused: true });
  await resume(id);
  await stage.run();
  expect(await campaignOf(id)).toEqual(RUNNING);
  expect(await stage.messages(id)).toHaveLength(5);
});

test('a scheduled campaign does not start if its template is rejected by then', async () => {
  const id = await stage.confirmed({ ...WHATSAPP, scheduledInMinutes: 30 });
  await tell('REJECTED', 'SCAM');
  await stage.run();
  expect(await campaignOf(id)).toEqual({ status: 1, paused: false, reason: null });
  await stage.pass(31 * 60);
  await stage.run();
  expect(await campaignOf(id)).toEqual({ status: 1, paused: true, reason: expect.stringContaining('REJECTED (SCAM)') });
  await tell('APPROVED');
  await resume(id);
  await stage.run();
  expect(await campaignOf(id)).toEqual(RUNNING);
});

test('a campaign whose messages have all been sent completes, whatever happens to its template', async () => {
  const id = await stage.confirmed(WHATSAPP);
  await stage.run();
  await stage.accept(await idsOf(id));
  await pauseTemplate();
  await stage.run();
  expect(await campaignOf(id)).toEqual(RUNNING);
  await stage.end(await idsOf(id), 'DELIVERED');
  await stage.run();
  expect(await campaignOf(id)).toMatchObject({ status: 3 });
});

test('a combined campaign is paused while recipients may still be tried on a channel whose template was deleted', async () => {
  const id = await stage.confirmed({ mode: 'WHATSAPP_RCS', numbers: mobileNumbers(5) });
  await stage.run();
  await stage.accept(await idsOf(id));
  await exec(pool, sql`DELETE FROM template WHERE channel = 'RCS'`);
  await stage.run();
  expect(await campaignOf(id)).toEqual({
    status: 2,
    paused: true,
    reason: 'rcsTemplateId template: there is no template template',
  });
});
