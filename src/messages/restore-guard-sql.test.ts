import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { mobileNumbers } from '../../test/support/campaigns/campaign.ts';
import { type CampaignStage, openCampaignStage } from '../../test/support/campaigns/stage.ts';
import { testDatabase } from '../../test/support/database.ts';
import { reset } from '../../test/support/reset.ts';
import { CAMPAIGN } from '../campaigns/store.ts';
import { exec, sql } from '../core/db/query.ts';
import { newOwnerKey, openWorkerSession } from '../core/db/worker-session.ts';
import { silentLog } from '../core/log.ts';
import * as db from './restore-guard.ts';

const database = testDatabase();
const { pool } = database;

let stage: CampaignStage;
beforeEach(async () => {
  await reset(
    pool,
    sql`TRUNCATE dispatch_chunk, restore_guard_machine, campaign, campaign_job, message_fallback, route, template`,
  );
  await exec(pool, sql`UPDATE restore_guard SET state = 'open'`);
  stage = await openCampaignStage(pool);
});

const listed = async (): Promise<number[]> => (await db.listUnsentCampaigns(pool)).map(({ id }) => id);
const isUnsent = async () => (await db.findDatabaseFacts(pool, { machine: null, owner: 1 })).unsent;

test('a campaign waits from its confirmation until all its messages are made', async () => {
  expect([await listed(), await isUnsent()]).toEqual([[], false]);
  const id = await stage.confirmed({ numbers: mobileNumbers(2) });
  expect([await listed(), await isUnsent()]).toEqual([[id], true]);
  await exec(pool, sql`UPDATE campaign SET status = ${CAMPAIGN.SENDING} WHERE id = ${id}`);
  expect(await listed()).toEqual([id]);
  await stage.run();
  await reset(pool, sql`TRUNCATE dispatch_chunk`);
  expect([await listed(), await isUnsent()]).toEqual([[], false]);
});

test('a campaign whose lanes are not done waits, and one on two channels as long as it runs', async () => {
  const [one, two] = [
    await stage.confirmed({ numbers: mobileNumbers(2) }),
    await stage.confirmed({ numbers: mobileNumbers(2), mode: 'RCS_SMS' }),
  ];
  await stage.run();
  expect(await listed()).toEqual([two]);
  await exec(pool, sql`UPDATE campaign_lane SET done = false WHERE campaign_id = ${one}`);
  expect(await listed()).toEqual([one, two]);
});

test('a campaign that is cancelled, or in no state to send, does not wait', async () => {
  const [cancelled, ended, waiting] = [
    await stage.confirmed({ numbers: mobileNumbers(2) }),
    await stage.confirmed({ numbers: mobileNumbers(2) }),
    await stage.confirmed({ numbers: mobileNumbers(2) }),
  ];
  await exec(pool, sql`UPDATE campaign SET cancelled_at = now() WHERE id = ${cancelled}`);
  await exec(pool, sql`UPDATE campaign SET status = ${CAMPAIGN.COMPLETED} WHERE id = ${ended}`);
  expect(await listed()).toEqual([waiting]);
});

test('a single send that waits for its fallback is unsent', async () => {
  await exec(
    pool,
    sql`INSERT INTO message_fallback (account_id, message_id, next_channels)
        VALUES (${stage.accountId}, gen_random_uuid(), '[]')`,
  );
  expect(await isUnsent()).toBe(true);
});

test('a database is vouched for by another worker that is alive and was in order within half a minute', async () => {
  const own = newOwnerKey();
  const session = await openWorkerSession({
    connectionString: database.connectionString,
    log: silentLog,
  });
  onTestFinished(session.close);
  const isVouched = async (owner: number) => (await db.findDatabaseFacts(pool, { machine: null, owner })).vouched;
  const machine = crypto.randomUUID();
  await db.updateGeneration(pool, { machine, owner: newOwnerKey() });
  expect(await isVouched(own)).toBe(false);
  await db.updateGeneration(pool, { machine, owner: session.owner });
  expect([await isVouched(own), await isVouched(session.owner)]).toEqual([true, false]);
  await exec(pool, sql`UPDATE restore_guard_machine SET seen_at = now() - interval '31 seconds'`);
  expect(await isVouched(own)).toBe(false);
});

test('only the call that pauses says that it did', async () => {
  const pause = () => db.moveToPaused(pool, { reason: 'test' });
  expect([await pause(), await pause()]).toEqual([true, false]);
});
