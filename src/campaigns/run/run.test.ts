import { expect, test } from 'vitest';
import { many, sql } from '../../db/query.ts';
import { confirmNew, findOne, numbers, untilOver } from '../../testing/campaign.ts';
import { startTestProgram } from '../../testing/program.ts';

test('everybody gets exactly one message, and the campaign is complete when all have an end', async () => {
  await using program = await startTestProgram();
  const { client, pool, smsc } = program;
  const id = await confirmNew(client, { destinations: numbers(2500), smsBody: 'Hi {{name|you}}' });
  const campaign = await untilOver(client, id);
  expect(campaign).toMatchObject({ status: 3, failureReason: null, totalSuccess: 2500, totalPending: 0 });
  const taken = smsc.ledger.submits().map((entry) => entry.destination);
  expect(taken.length).toBe(2500);
  expect(new Set(taken).size).toBe(2500);
  expect(await many(pool, sql`SELECT FROM campaign_job`)).toEqual([]);
  expect((await findOne(client, id)).progress).toBe(1);
});
