import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type FallbackStage,
  openFallbackStage,
  PRICE_MICROS,
  TAKEN,
} from '../../test/support/campaigns/fallback-stage.ts';
import { createScriptedRevoke, type ScriptedRevoke } from '../../test/support/carriers/scripted-revoke.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { actor, draft } from '../../test/support/drafts.ts';
import { readBooks } from '../../test/support/money.ts';
import { listUnknownIds } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { STATUS, type StatusName } from '../core/message-state.ts';
import { cancelMessage } from './cancellation.ts';
import { deleteFallbacksBefore, findNextFallbackMs } from './fallback-store.ts';
import { findRecord } from './status.ts';
import { EXPIRED_BY_US } from './store.ts';
import { findTimeline } from './timeline.ts';
import { settleUnknown } from './unknown-outcomes.ts';

const database = await createTestDatabase();
const { pool } = database;
afterAll(() => database[Symbol.asyncDispose]());

let stage: FallbackStage;
let network: ScriptedRevoke;
beforeEach(async () => {
  await reset(pool, sql`TRUNCATE message_fallback, dispatch_chunk, unknown_outcome`);
  network = createScriptedRevoke();
  stage = await openFallbackStage(pool, { revoke: network });
});

const channels = async (): Promise<string[]> => (await stage.messages()).map(({ channel }) => channel);
const open = () => many(pool, sql`SELECT message_id FROM message_fallback`);
const ends = async (status: StatusName, errorCode?: string): Promise<void> => {
  await stage.end(status, errorCode === undefined ? {} : { errorCode });
  await stage.run();
};

test('a final failure triggers the next channel at once, through the whole chain, and each is published once', async () => {
  await stage.send(['WHATSAPP', 'RCS', 'SMS']);
  await stage.settle(TAKEN);
  await ends('CONVERSATION_CLOSED');
  expect(await channels()).toEqual(['WHATSAPP', 'RCS']);
  await stage.settle(TAKEN);
  await ends('UNSUPPORTED');
  expect(await channels()).toEqual(['WHATSAPP', 'RCS', 'SMS']);
  await stage.settle(TAKEN);
  await ends('UNDELIVERABLE');
  await stage.pass(1000);
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP', 'RCS', 'SMS']);
  expect(await open()).toEqual([]);
});

test('a refusal at the submit triggers the fallback as well', async () => {
  await stage.send(['RCS', 'SMS']);
  await stage.settle({ kind: 'refused', status: 'UNSUPPORTED', code: '404', text: 'no RCS', carrierIds: [] });
  await stage.run();
  expect(await channels()).toEqual(['RCS', 'SMS']);
});

test('nothing ever follows a message that was delivered', async () => {
  await stage.send(['WHATSAPP', 'SMS']);
  await stage.settle(TAKEN);
  await ends('DELIVERED');
  expect([await channels(), await open()]).toEqual([['WHATSAPP'], []]);
});

test('onStatus names the only failures that trigger the fallback', async () => {
  await stage.send(['RCS', 'SMS'], {}, { onStatus: ['UNSUPPORTED'] });
  await stage.settle(TAKEN);
  await ends('UNDELIVERABLE');
  expect([await channels(), await open()]).toEqual([['RCS'], []]);
});

test('an unknown outcome never triggers the fallback, neither by time nor by our own expiry', async () => {
  await stage.send(['RCS', 'SMS']);
  await stage.settle({ kind: 'unknown', text: 'no response', carrierIds: [] });
  await stage.pass(301);
  await stage.run();
  expect([await channels(), network.asked]).toEqual([['RCS'], []]);
  await ends('EXPIRED', EXPIRED_BY_US);
  expect([await channels(), await open()]).toEqual([['RCS'], []]);
});

test('an unknown outcome that a receipt settles as failed triggers the fallback', async () => {
  await stage.send(['RCS', 'SMS']);
  await stage.settle({ kind: 'unknown', text: 'no response', carrierIds: [] });
  await ends('UNDELIVERABLE');
  expect(await channels()).toEqual(['RCS', 'SMS']);
});

test('nothing follows before the time is over', async () => {
  await stage.send(['WHATSAPP', 'SMS']);
  await stage.settle(TAKEN);
  await stage.pass(290);
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP']);
  expect(await findNextFallbackMs(pool)).toBeGreaterThan(0);
});

test('the end of the time on WhatsApp triggers the fallback, and late receipts change only their own message', async () => {
  const id = await stage.send(['WHATSAPP', 'SMS']);
  await stage.settle(TAKEN);
  await stage.pass(301);
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP', 'SMS']);
  await stage.settle(TAKEN);
  await stage.end('UNDELIVERABLE', { id });
  await stage.run();
  expect((await stage.messages()).map(({ channel, status }) => [channel, status])).toEqual([
    ['WHATSAPP', STATUS.UNDELIVERABLE],
    ['SMS', STATUS.ACCEPTED],
  ]);
});

test('when its time is over an RCS message is revoked, and the yes of the network lets the next one go', async () => {
  const id = await stage.send(['RCS', 'SMS']);
  await stage.settle(TAKEN);
  await stage.pass(301);
  await stage.run();
  expect(network.asked).toMatchObject([{ messageId: id, sender: 'agent', connectionId: 1 }]);
  expect((await stage.messages()).map(({ channel, status }) => [channel, status])).toEqual([
    ['RCS', STATUS.DELETED],
    ['SMS', null],
  ]);
});

test('an RCS message that its network does not revoke is followed by nothing until it fails', async () => {
  network.answer = false;
  await stage.send(['RCS', 'SMS']);
  await stage.settle(TAKEN);
  await stage.pass(301);
  await stage.run();
  await stage.pass(100_000);
  await stage.run();
  expect([await channels(), network.asked.length]).toEqual([['RCS'], 1]);
  await ends('UNDELIVERABLE');
  expect(await channels()).toEqual(['RCS', 'SMS']);
});

test('a network without a link to this process, or without a response, is asked again later', async () => {
  network.linked = false;
  await stage.send(['RCS', 'SMS']);
  await stage.settle(TAKEN);
  await stage.pass(301);
  await stage.run();
  expect([await channels(), network.asked.length]).toEqual([['RCS'], 0]);
  [network.linked, network.answer] = [true, null];
  await stage.pass(20);
  await stage.run();
  expect([await channels(), network.asked.length]).toEqual([['RCS'], 1]);
  network.answer = true;
  await stage.pass(20);
  await stage.run();
  expect([await channels(), network.asked.length]).toEqual([['RCS', 'SMS'], 2]);
});

describe('when the process dies between the network’s response and its commit', () => {
  /** Asks the network to revoke the message, and never records the response. */
  async function dead(): Promise<string> {
    const id = await stage.send(['RCS', 'SMS']);
    await stage.settle(TAKEN);
    await stage.pass(301);
    network.answer = null;
    await stage.run();
    await stage.pass(120);
    return id;
  }

  test('the next yes lets the next message go', async () => {
    await dead();
    network.answer = true;
    await stage.run();
    expect(await channels()).toEqual(['RCS', 'SMS']);
  });

  test('a no lets nothing go, and is listed as an unknown outcome, once', async () => {
    const id = await dead();
    network.answer = false;
    await stage.run();
    await stage.pass(100_000);
    await stage.run();
    expect([await channels(), network.asked.length]).toEqual([['RCS'], 2]);
    expect(await listUnknownIds(pool)).toEqual(new Set([id]));
    const events = (await findTimeline(pool, actor(stage.accountId), id))?.events.filter(
      ({ kind }) => kind === 'REVOKE',
    );
    expect(events?.map(({ outcome }) => outcome)).toEqual([undefined, 'UNKNOWN']);
  });

  test('a person who finds out that it was revoked lets the next message go', async () => {
    const id = await dead();
    network.answer = false;
    await stage.run();
    await settleUnknown(pool, { messageId: id, as: 'rejected', by: 'op' }, new Date());
    await stage.run();
    expect([await channels(), await listUnknownIds(pool)]).toEqual([['RCS', 'SMS'], new Set()]);
  });

  test('a late receipt removes it from the list, and lets nothing go', async () => {
    const id = await dead();
    network.answer = false;
    await stage.run();
    await stage.end('DELIVERED', { id });
    await stage.run();
    expect([await channels(), await listUnknownIds(pool)]).toEqual([['RCS'], new Set()]);
  });
});

test('a receipt that comes while the network is asked is not missed', async () => {
  const ask = async (): Promise<boolean> => {
    await stage.end('UNDELIVERABLE');
    return false;
  };
  stage = await openFallbackStage(pool, { revoke: { reaches: () => true, ask } });
  await stage.send(['RCS', 'SMS']);
  await stage.settle(TAKEN);
  await stage.pass(301);
  await stage.run();
  expect(await channels()).toEqual(['RCS', 'SMS']);
});

test('the time begins when a carrier takes the message, however long it has waited', async () => {
  await stage.send(['WHATSAPP', 'SMS']);
  for (let checks = 0; checks < 5; checks++) {
    await stage.pass(301);
    await stage.run();
  }
  expect((await stage.messages()).map(({ status }) => status)).toEqual([null]);
  await stage.settle(TAKEN);
  await stage.pass(290);
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP']);
  await stage.pass(11);
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP', 'SMS']);
});

test('a message that waits to be tried again has not begun its time', async () => {
  await stage.send(['WHATSAPP', 'SMS']);
  await stage.settle({ kind: 'retry', afterMs: 0, counts: false, code: '130429', text: 'rate limit hit' });
  await stage.pass(1000);
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP']);
});

test('a message that no carrier takes within maxWait is withdrawn before the next channel is tried', async () => {
  await stage.send(['WHATSAPP', 'SMS'], {}, { maxWaitSeconds: 600 });
  await stage.pass(590);
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP']);
  await stage.pass(11);
  await stage.run();
  const [first, second] = await stage.messages();
  expect([first?.status, second?.channel]).toEqual([STATUS.DELETED, 'SMS']);
  const timeline = await findTimeline(pool, actor(stage.accountId), first?.id ?? '');
  expect(timeline?.events).toContainEqual(expect.objectContaining({ kind: 'FINAL', code: 'NOT_TRIED' }));
  expect(timeline?.events).toContainEqual(
    expect.objectContaining({ kind: 'FALLBACK', text: 'followed by a message on SMS: NOT_TRIED' }),
  );
  expect(await many(pool, sql`SELECT array_to_string(ids, ',') AS ids FROM dispatch_chunk`)).toEqual([
    { ids: second?.id },
  ]);
});

test('the response to a message that is being submitted is waited for', async () => {
  await stage.send(['WHATSAPP', 'SMS'], {}, { maxWaitSeconds: 300 });
  await exec(pool, sql`UPDATE dispatch_chunk SET owner = 1, intent = 1`);
  await stage.pass(301);
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP']);
  await stage.settle({ kind: 'refused', status: 'ERROR', code: '1', text: 'no', carrierIds: [] });
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP', 'SMS']);
});

test('a message with a schedule has its time from then on, and one that was missed waits for a person', async () => {
  const scheduledAt = new Date(Date.now() + 3_600_000);
  await stage.send(['WHATSAPP', 'SMS'], { scheduledAt });
  await stage.pass(3600);
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP']);
  await exec(pool, sql`UPDATE dispatch_chunk SET scheduled = true, available_at = now() - interval '2 hours'`);
  await stage.pass(400);
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP']);
  await exec(pool, sql`UPDATE dispatch_chunk SET scheduled = false`);
  await stage.settle(TAKEN);
  await stage.pass(301);
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP', 'SMS']);
});

test('cancelling a message ends its chain', async () => {
  const id = await stage.send(['WHATSAPP', 'SMS']);
  const by = { ...actor(stage.accountId), kind: 'key' } as const;
  expect(await cancelMessage(pool, by, { id, now: new Date() })).toBe(true);
  await stage.run();
  expect([await channels(), await open()]).toEqual([['WHATSAPP'], []]);
});

test('the next message is made once, whatever fails while it is made', async () => {
  await stage.send(['WHATSAPP', 'SMS']);
  await stage.settle(TAKEN);
  await stage.end('UNDELIVERABLE');
  const broken: FallbackStage['accept'] = {
    ...stage.accept,
    once: (sender, drafts, request) =>
      stage.accept.once(sender, drafts, {
        ...request,
        async record(tx, verdicts) {
          await request.record(tx, verdicts);
          throw new Error('the process is gone');
        },
      }),
  };
  await stage.run(broken);
  expect(await channels()).toEqual(['WHATSAPP']);
  await stage.pass(10);
  await stage.run();
  await stage.run();
  expect(await channels()).toEqual(['WHATSAPP', 'SMS']);
});

test('two workers that process the same final state make one message', async () => {
  await stage.send(['WHATSAPP', 'SMS']);
  await stage.settle(TAKEN);
  await stage.end('UNDELIVERABLE');
  let second: Promise<void> | null = null;
  await stage.run({
    async once(sender, drafts, request) {
      // The other one checks in between: its lease is over.
      second ??= stage.pass(1000).then(() => stage.run());
      await second;
      return stage.accept.once(sender, drafts, request);
    },
  });
  expect(await channels()).toEqual(['WHATSAPP', 'SMS']);
});

test('a next message that the credit does not cover ends REJECTED at no price, and nothing follows it', async () => {
  stage = await openFallbackStage(pool, { revoke: network, creditMicros: PRICE_MICROS });
  await stage.send(['WHATSAPP', 'RCS', 'SMS']);
  await stage.settle(TAKEN);
  await ends('UNDELIVERABLE');
  expect(await stage.messages()).toMatchObject([
    { channel: 'WHATSAPP' },
    { channel: 'RCS', status: STATUS.REJECTED, errorText: 'insufficient credit' },
  ]);
  expect(await open()).toEqual([]);
  expect(await readBooks(pool, stage.accountId)).toMatchObject({ available: 0, frozen: 0, earned: PRICE_MICROS });
});

test('a number that has opted out of the next channel meanwhile gets nothing', async () => {
  await stage.send(['WHATSAPP', 'SMS']);
  await stage.settle(TAKEN);
  const number = draft().destination;
  await exec(
    pool,
    sql`INSERT INTO opt_out (account_id, phone_number, channel, source) VALUES (${stage.accountId}, ${number}, 'SMS', 'STOP')`,
  );
  await ends('UNDELIVERABLE');
  expect((await stage.messages()).at(-1)).toMatchObject({ channel: 'SMS', status: STATUS.REJECTED });
});

test('nothing is sent for an account that was suspended meanwhile, nor after the validity', async () => {
  await stage.send(['WHATSAPP', 'SMS'], { validUntil: new Date(Date.now() - 1) });
  await stage.settle(TAKEN);
  await ends('UNDELIVERABLE');
  await stage.send(['RCS', 'SMS']);
  await stage.settle(TAKEN);
  await exec(pool, sql`UPDATE account SET status = 'suspended' WHERE id = ${stage.accountId}`);
  await ends('UNDELIVERABLE');
  const refused = (await stage.messages()).filter(({ channel }) => channel === 'SMS');
  expect(refused.map(({ status, errorText }) => [status, errorText])).toEqual([
    [STATUS.REJECTED, 'its validity has ended'],
    [STATUS.REJECTED, 'the account is suspended'],
  ]);
});

test('the client’s id refers to the newest message, and a repeat gets the first in its response', async () => {
  const id = await stage.send(['WHATSAPP', 'RCS', 'SMS'], { clientId: 'mine' });
  await stage.settle(TAKEN);
  await ends('UNDELIVERABLE');
  await stage.settle(TAKEN);
  await ends('UNDELIVERABLE');
  const [, , last] = await stage.messages();
  expect(last).toMatchObject({ channel: 'SMS', clientId: 'mine' });
  expect(await findRecord(pool, { accountId: stage.accountId }, 'mine')).toMatchObject({
    id: last?.id,
    channel: 'SMS',
  });
  expect(await stage.send(['WHATSAPP', 'RCS', 'SMS'], { clientId: 'mine' })).toBe(id);
  await expect(stage.send(['WHATSAPP', 'SMS'], { clientId: 'mine' })).rejects.toThrow('conflict');
});

test('the timelines of both messages name each other', async () => {
  const first = await stage.send(['WHATSAPP', 'SMS']);
  await stage.settle(TAKEN);
  await ends('UNDELIVERABLE');
  const [, second] = await stage.messages();
  const fallbackOf = async (id: string) => {
    const timeline = await findTimeline(pool, actor(stage.accountId), id);
    return timeline?.events.find(({ kind }) => kind === 'FALLBACK');
  };
  expect(await fallbackOf(first)).toMatchObject({ channel: 'SMS', messageId: second?.id });
  expect(await fallbackOf(second?.id ?? '')).toMatchObject({
    channel: 'WHATSAPP',
    messageId: first,
    text: 'follows a message on WHATSAPP: UNDELIVERABLE',
  });
});

test('each message is paid for by its own final state', async () => {
  await stage.send(['RCS', 'SMS']);
  await stage.settle({ kind: 'refused', status: 'UNSUPPORTED', code: '404', text: 'no RCS', carrierIds: [] });
  await stage.run();
  expect(await readBooks(pool, stage.accountId)).toMatchObject({ frozen: PRICE_MICROS, earned: 0 });
  await stage.settle(TAKEN);
  expect(await readBooks(pool, stage.accountId)).toMatchObject({ frozen: 0, earned: PRICE_MICROS });
});

test('the fallbacks of messages that were removed, or discarded after a restore, are deleted', async () => {
  const id = await stage.send(['WHATSAPP', 'SMS']);
  await exec(pool, sql`DELETE FROM message WHERE id = ${id}`);
  await stage.pass(301);
  await stage.run();
  expect(await open()).toEqual([]);
  const [before, after] = [await stage.send(['RCS', 'SMS']), await stage.send(['RCS', 'SMS'])];
  expect(await deleteFallbacksBefore(pool, { endId: after })).toBe(1);
  expect(await open()).toEqual([{ message_id: after }]);
  expect(before < after).toBe(true);
});
