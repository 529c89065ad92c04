import { fc, test as propertyTest } from '@fast-check/vitest';
import { beforeAll, expect, test } from 'vitest';
import { retry } from '../../test/support/carriers/scripted-carrier.ts';
import { testDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { newMessage, resultOf, statesOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { runs } from '../../test/support/runs.ts';
import type { Outcome, ReceiptState } from '../channels/carrier.ts';
import { bitOf, type Channel } from '../core/channels.ts';
import { exec, many, one, sql, timeOf } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { isFinal, STATUS } from '../core/message-state.ts';
import { insertChunks } from '../dispatch/store.ts';
import { freeze } from '../money/credit.ts';
import { cancelMessages } from './cancellation.ts';
import { deleteCampaignEnds, listCampaignsWithEnds } from './events.ts';
import { expireDeadlines, insertDeadlines } from './expiry.ts';
import { loadJobs } from './load.ts';
import { insertMessages } from './new-messages.ts';
import { receiveReceipts, settleOutcomes } from './settle.ts';
import { settleUnknown } from './unknown-outcomes.ts';

const { pool } = testDatabase();

let connectionId: number;
beforeAll(async () => {
  const row = await one<{ id: number }>(
    pool,
    sql`INSERT INTO connection (name, kind, settings, secret) VALUES ('one', 'smpp', '{}', '') RETURNING id`,
  );
  connectionId = row.id;
});

const PRICE = 10;

type World = { accountId: number; single: number; combined: number };

async function newWorld(): Promise<World> {
  const accountId = await createAccountWithCredit(pool, 100_000);
  const campaign = async (mode: string): Promise<number> => {
    const row = await one<{ id: number }>(
      pool,
      sql`INSERT INTO campaign (account_id, name, status, sending_mode) VALUES (${accountId}, 'one', 0, ${mode}) RETURNING id`,
    );
    return row.id;
  };
  return { accountId, single: await campaign('SMS'), combined: await campaign('RCS_SMS') };
}

type Kind = {
  readonly channel: Channel;
  readonly of: 'none' | 'single' | 'combined';
  readonly refundUndelivered: boolean;
};

/** A message that waits, its price frozen. */
async function queued(world: World, { channel, of, refundUndelivered }: Kind): Promise<string> {
  const { accountId } = world;
  const campaignId = of === 'none' ? null : world[of];
  const message = newMessage({
    accountId,
    channel,
    campaignId,
    connectionId,
    refundUndelivered,
    priceMicros: PRICE,
    keepsReserve: of === 'combined',
  });
  await transaction(pool, async (tx) => {
    await insertMessages(tx, [message]);
    await freeze(tx, [{ accountId, micros: PRICE }], '');
  });
  await queue(accountId, message.id);
  return message.id;
}

const queue = (accountId: number, id: string): Promise<void> =>
  insertChunks(pool, [{ accountId, connectionId, priority: 2, availableAt: null, ids: [id] }]);

const takeFromQueue = async (id: string): Promise<boolean> =>
  (await exec(pool, sql`DELETE FROM dispatch_chunk WHERE ids[1] = ${id} AND coalesce(cardinality(withdrawn), 0) = 0`)) >
  0;

const CODE = { code: '8', text: 'no', carrierIds: [] };
const OUTCOMES: Readonly<Record<string, Outcome>> = {
  accepted: { kind: 'accepted', carrierIds: ['C'] },
  unknown: { kind: 'unknown', text: 'no response', carrierIds: [] },
  resubmit: { kind: 'unknown', text: 'no response', carrierIds: [] },
  refused: { kind: 'refused', status: 'UNSUPPORTED', ...CODE },
  retry: retry(0, true),
};

/** An attempt that the pump settles: of a message that waits, or once more of one whose outcome was unknown. */
async function attempt({ accountId }: World, id: string, how: string): Promise<void> {
  const state = (await statesOf(pool, [id])).get(id);
  const waits = await takeFromQueue(id);
  if (!waits && state?.status !== STATUS.UNKNOWN) return;
  const chunk = { id: 1, accountId, priority: 0, round: 0, attempt: 0, tries: 0, intent: 0, ids: [id] };
  const [jobs] = await loadJobs(pool, [{ ...chunk, alternates: [], onUnknown: 'hold', campaignId: null }]);
  // Of a dead worker's messages only the id is known.
  const job = how === 'unknown' ? null : (jobs?.[0] ?? null);
  const outcome = OUTCOMES[how] as Outcome;
  const result = resultOf(id, outcome, {
    accountId,
    connectionId,
    job,
    resubmit: how === 'resubmit',
    attempt: (state?.attempts ?? 0) + (waits ? 1 : 0),
  });
  const news = await transaction(pool, (tx) => settleOutcomes(tx, [result], !waits || how === 'unknown'));
  const again = how === 'retry' || how === 'resubmit';
  if (again && (news === 'all' || news.has(id))) await queue(accountId, id);
}

const receiving = ({ accountId }: World, id: string, state: ReceiptState): Promise<unknown> =>
  transaction(pool, async (tx) => {
    const [known] = (await statesOf(pool, [id])).values();
    if (!known?.submittedAt) return;
    const matched = { accountId, messageId: id, part: null, connectionId, receivedAt: new Date() };
    await receiveReceipts(tx, [{ ...matched, receipt: receipt('C', { state }) }]);
  });

async function expiring({ accountId }: World, id: string): Promise<void> {
  await insertDeadlines(pool, [{ accountId, dueAt: new Date(0), ids: [id] }]);
  await expireDeadlines(pool, () => new Date());
  await exec(pool, sql`DELETE FROM message_deadline`);
}

const settling = (id: string, as: 'not-sent' | 'undeliverable'): Promise<unknown> =>
  settleUnknown(pool, { messageId: id, as, by: 'test' }, new Date()).catch(() => undefined);

const STEPS: Readonly<Record<string, (world: World, id: string) => Promise<unknown>>> = {
  ...Object.fromEntries(
    Object.keys(OUTCOMES).map((how) => [how, (world: World, id: string) => attempt(world, id, how)]),
  ),
  DELIVERED: (world, id) => receiving(world, id, 'DELIVERED'),
  READ: (world, id) => receiving(world, id, 'READ'),
  UNDELIVERABLE: (world, id) => receiving(world, id, 'UNDELIVERABLE'),
  ACCEPTED: (world, id) => receiving(world, id, 'ACCEPTED'),
  expire: expiring,
  cancel: ({ accountId }, id) =>
    transaction(pool, (tx) => cancelMessages(tx, [{ accountId, id }], { by: 'test', now: new Date() })),
  'not sent, says a person': (_, id) => settling(id, 'not-sent'),
  'undeliverable, says a person': (_, id) => settling(id, 'undeliverable'),
};

const FIGURES = sql`sum(sent)::int AS sent, sum(delivered)::int AS delivered, sum(read)::int AS read,
  sum(failed)::int AS failed, sum(unsent)::int AS unsent`;

/** The figures that follow from the states. */
const fromStates = (accountId: number) =>
  many(
    pool,
    sql`SELECT hour, campaign_id, channel, ${FIGURES} FROM (
          SELECT date_trunc('hour', ${timeOf(sql`id`)}, 'UTC') AS hour, coalesce(campaign_id, 0) AS campaign_id, channel,
                 (NOT kept)::int AS sent, (status = 3)::int AS delivered, (read_at IS NOT NULL)::int AS read,
                 (final AND status <> 3)::int AS failed, (final AND kept)::int AS unsent
          FROM (SELECT *, status NOT IN (0, 1) AS final,
                       submitted_at IS NULL AND NOT possible_duplicate AND (status IN (0, 1)
                         OR coalesce(error_code, '') IN ('CANCELLED', 'VALIDITY_ENDED')) AS kept
                FROM message_state WHERE account_id = ${accountId}) AS s) AS f
        GROUP BY hour, campaign_id, channel HAVING bool_or(sent + failed > 0) ORDER BY hour, campaign_id, channel`,
  );

const counted = (accountId: number) =>
  many(
    pool,
    sql`SELECT hour, campaign_id, channel, ${FIGURES} FROM traffic_hour WHERE account_id = ${accountId}
        GROUP BY hour, campaign_id, channel HAVING sum(sent) <> 0 OR sum(failed) <> 0 OR sum(read) <> 0 OR sum(delivered) <> 0 ORDER BY hour, campaign_id, channel`,
  );

const costOf = async (accountId: number): Promise<number> =>
  (
    await one<{ cost: number }>(
      pool,
      sql`SELECT coalesce(sum(cost_micros), 0)::int AS cost FROM traffic_hour WHERE account_id = ${accountId}`,
    )
  ).cost;

/** The ends of which combined campaigns were notified. */
async function toldEnds({ accountId, combined }: World): Promise<string[]> {
  expect(
    (await listCampaignsWithEnds(pool)).filter((c) => c.accountId === accountId && c.campaignId !== combined),
  ).toEqual([]);
  const rows = await deleteCampaignEnds(pool, { accountId, campaignId: combined }, 1000);
  return rows.flatMap((row) => row.messageIds).sort();
}

const anyKind = fc.record({
  channel: fc.constantFrom<Channel[]>('SMS', 'RCS', 'WHATSAPP'),
  of: fc.constantFrom('none' as const, 'single' as const, 'combined' as const),
  refundUndelivered: fc.boolean(),
});
const anyStep = fc.record({ at: fc.nat({ max: 2 }), step: fc.constantFrom(...Object.keys(STEPS)) });

propertyTest.prop([fc.array(anyKind, { minLength: 3, maxLength: 3 }), fc.array(anyStep, { maxLength: 14 })], {
  numRuns: runs(6),
})(
  'whatever becomes of messages: figures, cost and what campaigns learn agree with states and ledger',
  async (kinds, steps) => {
    const world = await newWorld();
    const { accountId } = world;
    const ids: string[] = [];
    for (const kind of kinds) ids.push(await queued(world, kind));
    for (const { at, step } of steps) await STEPS[step]?.(world, ids[at] ?? '');
    expect(await counted(accountId)).toEqual(await fromStates(accountId));
    expect(await costOf(accountId)).toBe((await readBooks(pool, accountId)).earned);
    const states = await statesOf(pool, ids);
    const ended = ids.filter((id, n) => kinds[n]?.of === 'combined' && isFinal(states.get(id)?.status ?? 0));
    expect(await toldEnds(world)).toEqual(ended.sort());
  },
);

test('a refund of a combined campaign stays frozen, and what is earned leaves it', async () => {
  const world = await newWorld();
  const kind: Kind = { channel: 'RCS', of: 'combined', refundUndelivered: true };
  const [refused, failed, delivered] = [
    await queued(world, kind),
    await queued(world, kind),
    await queued(world, kind),
  ];
  await attempt(world, refused, 'refused');
  for (const id of [failed, delivered]) await attempt(world, id, 'accepted');
  await receiving(world, failed, 'UNDELIVERABLE');
  await receiving(world, delivered, 'DELIVERED');
  expect(await readBooks(pool, world.accountId)).toMatchObject({ frozen: 2 * PRICE, earned: PRICE });
});

test('a campaign gets UNKNOWN, which nothing follows, for a message that we gave up and a carrier may have', async () => {
  const world = await newWorld();
  const kind: Kind = { channel: 'RCS', of: 'combined', refundUndelivered: true };
  const [doubtful, unsent] = [await queued(world, kind), await queued(world, kind)];
  await attempt(world, doubtful, 'unknown');
  await expiring(world, doubtful);
  await expiring(world, unsent);
  const rows = await deleteCampaignEnds(pool, { accountId: world.accountId, campaignId: world.combined }, 10);
  expect(new Map(rows.map(({ messageIds, statuses }) => [messageIds[0], statuses[0]]))).toEqual(
    new Map([
      [doubtful, STATUS.UNKNOWN],
      [unsent, STATUS.EXPIRED],
    ]),
  );
  await receiving(world, doubtful, 'DELIVERED');
  expect(await deleteCampaignEnds(pool, { accountId: world.accountId, campaignId: world.combined }, 10)).toEqual([]);
});

test('states have channel and campaign, whichever way they were made', async () => {
  const world = await newWorld();
  const kind: Kind = { channel: 'WHATSAPP', of: 'single', refundUndelivered: false };
  const ids = [await queued(world, kind), await queued(world, kind), await queued(world, kind)];
  await attempt(world, ids[0] ?? '', 'accepted');
  await attempt(world, ids[1] ?? '', 'unknown');
  await expiring(world, ids[2] ?? '');
  expect(
    await many(
      pool,
      sql`SELECT DISTINCT campaign_id, channel FROM message_state WHERE account_id = ${world.accountId}`,
    ),
  ).toEqual([{ campaign_id: world.single, channel: bitOf('WHATSAPP') }]);
});

test('a DELIVERED that replaces our own EXPIRED removes the failure, and costs nothing more', async () => {
  const world = await newWorld();
  const id = await queued(world, { channel: 'SMS', of: 'none', refundUndelivered: true });
  await attempt(world, id, 'accepted');
  await expiring(world, id);
  expect(await counted(world.accountId)).toMatchObject([{ sent: 1, delivered: 0, failed: 1, unsent: 0 }]);
  await receiving(world, id, 'DELIVERED');
  expect(await counted(world.accountId)).toMatchObject([{ sent: 1, delivered: 1, failed: 0, unsent: 0 }]);
  expect(await costOf(world.accountId)).toBe(0);
});

test('a message that a person settles as not sent is not counted as sent until it is', async () => {
  const world = await newWorld();
  const id = await queued(world, { channel: 'SMS', of: 'single', refundUndelivered: false });
  await attempt(world, id, 'unknown');
  await settling(id, 'not-sent');
  expect(await counted(world.accountId)).toEqual([]);
  await attempt(world, id, 'accepted');
  expect(await counted(world.accountId)).toMatchObject([{ campaign_id: world.single, sent: 1 }]);
});
