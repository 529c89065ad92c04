import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { mobileNumbers } from '../../test/support/campaigns/campaign.ts';
import { type CampaignStage, openCampaignStage } from '../../test/support/campaigns/stage.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { readBooks } from '../../test/support/money.ts';
import { reset } from '../../test/support/reset.ts';
import { runs } from '../../test/support/runs.ts';
import type { Channel } from '../core/channels.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { isFinal, STATUS } from '../core/message-state.ts';
import { insertChunks, type NewChunk } from '../dispatch/store.ts';
import { chainOf } from './audience.ts';

const database = await createTestDatabase();
const { pool } = database;
afterAll(() => database[Symbol.asyncDispose]());

/** On RCS and WhatsApp the price of an undelivered message is returned, on SMS it is not. */
const PRICE: Readonly<Record<Channel, number>> = { WHATSAPP: 60, RCS: 50, SMS: 35 };
const MODES = ['RCS_SMS', 'WHATSAPP_SMS', 'WHATSAPP_RCS', 'WHATSAPP_RCS_SMS'] as const;
type Mode = (typeof MODES)[number];
const NUMBERS = mobileNumbers(3);

async function begun(stage: CampaignStage, mode: Mode, numbers = NUMBERS): Promise<number> {
  await reset(pool, sql`TRUNCATE campaign_job, campaign_outcome, dispatch_chunk`);
  const reservedMicros = numbers.length * PRICE[chainOf(mode)[0] ?? 'SMS'];
  const id = await stage.confirmed({ mode, numbers, reservedMicros });
  const prices = Object.entries(PRICE).map(([channel, unitMicros]) => ({
    channel,
    prefix: '',
    unitMicros,
    refundUndelivered: channel !== 'SMS',
  }));
  await exec(pool, sql`UPDATE campaign SET audience = ${JSON.stringify({ prices })}::jsonb WHERE id = ${id}`);
  await stage.run();
  return id;
}

type Message = { destination: string; id: string; channel: Channel; status: number | null; submitted: boolean };
const messagesOf = (id: number): Promise<Message[]> =>
  many(
    pool,
    sql`SELECT m.destination, m.id, m.channel, s.status, s.submitted_at IS NOT NULL AS submitted FROM message m
        LEFT JOIN message_state s ON s.id = m.id WHERE m.campaign_id = ${id} ORDER BY m.id`,
  );
const isOpen = ({ status }: Message): boolean => status === null || !isFinal(status);

/** Returns the maximum that the recipients can still cost, by the states of their messages. */
function stillPossible(mode: Mode, messages: readonly Message[]): number {
  const chain = chainOf(mode);
  let micros = 0;
  for (const own of Map.groupBy(messages, ({ destination }) => destination).values()) {
    const last = own.at(-1);
    for (const message of own) if (message !== last && isOpen(message)) micros += PRICE[message.channel];
    // An SMS is charged when a carrier takes it, and is the last in every chain.
    if (!last || !isOpen(last) || (last.channel === 'SMS' && last.submitted)) continue;
    micros += Math.max(...chain.slice(chain.indexOf(last.channel)).map((channel) => PRICE[channel]));
  }
  return micros;
}

type Move = readonly [recipient: number, what: (typeof WHAT)[number]];
const WHAT = ['accept', 'deliver', 'fail', 'refuse', 'time', 'deliver late', 'fail late'] as const;

/** The messages to a recipient that a move may concern. */
async function openOf(id: number, recipient: number) {
  const own = (await messagesOf(id)).filter(({ destination }) => destination === NUMBERS[recipient]);
  const last = own.findLast(() => true);
  const open = last && isOpen(last) ? last : undefined;
  return {
    waiting: open && !open.submitted ? [open.id] : [],
    sent: open?.submitted ? [open.id] : [],
    late: own.filter((message) => message !== last && isOpen(message)).map((message) => message.id),
  };
}

async function make(stage: CampaignStage, id: number, [recipient, what]: Move): Promise<void> {
  const { waiting, sent, late } = await openOf(id, recipient);
  const moves: Record<(typeof WHAT)[number], () => Promise<void>> = {
    accept: () => stage.accept(waiting),
    refuse: () => stage.refuse(waiting),
    deliver: () => stage.end(sent, 'DELIVERED'),
    fail: () => stage.end(sent, 'UNDELIVERABLE'),
    time: () => stage.pass(3601),
    'deliver late': () => stage.end(late.slice(0, 1), 'DELIVERED'),
    'fail late': () => stage.end(late.slice(0, 1), 'EXPIRED'),
  };
  await moves[what]();
}

test.each(MODES)('at any time %s keeps frozen exactly the most that its recipients can still cost', async (mode) => {
  const move = fc.tuple(fc.nat({ max: NUMBERS.length - 1 }), fc.constantFrom(...WHAT));
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 10, maxLength: 25 }), async (moves) => {
      const stage = await openCampaignStage(pool);
      const id = await begun(stage, mode);
      const check = async (): Promise<void> => {
        const { frozen } = await readBooks(pool, stage.accountId);
        expect(frozen).toBe(stillPossible(mode, await messagesOf(id)));
      };
      await check();
      for (const next of moves) {
        await make(stage, id, next);
        await stage.run();
        await check();
      }
    }),
    { numRuns: runs(2) },
  );
});

test('what may cost more than the reserve is frozen as far as the credit goes, and the rest once there is credit', async () => {
  const stage = await openCampaignStage(pool);
  const id = await begun(stage, 'WHATSAPP_SMS', NUMBERS.slice(0, 1));
  const [first] = await messagesOf(id);
  const spend = (micros: number) =>
    exec(pool, sql`UPDATE credit_balance SET available_micros = ${micros} WHERE account_id = ${stage.accountId}`);
  const balance = () =>
    one<{ available: number; frozen: number }>(
      pool,
      sql`SELECT available_micros AS available, (SELECT sum(micros)::bigint FROM credit_frozen f
          WHERE f.account_id = b.account_id) AS frozen FROM credit_balance b WHERE account_id = ${stage.accountId}`,
    );
  await spend(20);
  await stage.accept([first?.id ?? '']);
  await stage.pass(3601);
  await stage.run();
  const [, second] = await messagesOf(id);
  expect(second?.channel).toBe('SMS');
  expect(await balance()).toEqual({ available: 0, frozen: 80 });
  await stage.accept([second?.id ?? '']);
  await stage.end([second?.id ?? ''], 'DELIVERED');
  await stage.end([first?.id ?? ''], 'DELIVERED');
  await stage.run();
  expect(await balance()).toEqual({ available: 0, frozen: -15 });
  await spend(100);
  await stage.run();
  expect(await balance()).toEqual({ available: 85, frozen: 0 });
  expect(await many(pool, sql`SELECT FROM campaign_job`)).toEqual([]);
});

const CHUNKS = sql`SELECT account_id AS "accountId", connection_id AS "connectionId", priority,
  campaign_id AS "campaignId" FROM dispatch_chunk`;

test('the figures of a combined campaign add up after its cancellation, and its whole rest is returned', async () => {
  const stage = await openCampaignStage(pool);
  const id = await begun(stage, 'WHATSAPP_RCS_SMS');
  const [first, second, third] = await messagesOf(id);
  const sent = [first?.id ?? '', second?.id ?? ''];
  const [chunk] = await many<NewChunk>(pool, CHUNKS);
  await stage.accept(sent);
  // The stage removes whole chunks.
  if (chunk) await insertChunks(pool, [{ ...chunk, alternates: [], availableAt: null, ids: [third?.id ?? ''] }]);
  await exec(pool, sql`UPDATE campaign SET cancelled_at = now() WHERE id = ${id}`);
  await stage.run();
  await stage.end([sent[0] ?? ''], 'DELIVERED');
  await stage.end([sent[1] ?? ''], 'UNDELIVERABLE');
  await stage.run();
  expect(
    await one(
      pool,
      sql`SELECT c.status, r.recipients, r.ended, r.delivered, r.withdrawn, r.unmade FROM campaign c
          JOIN campaign_run r ON r.campaign_id = c.id WHERE c.id = ${id}`,
    ),
  ).toEqual({ status: 3, recipients: 3, ended: 3, delivered: 1, withdrawn: 1, unmade: 0 });
  expect(await readBooks(pool, stage.accountId)).toMatchObject({ frozen: 0, earned: PRICE.WHATSAPP });
  expect((await messagesOf(id)).map(({ status }) => status)).toEqual([
    STATUS.DELIVERED,
    STATUS.UNDELIVERABLE,
    STATUS.DELETED,
  ]);
});
