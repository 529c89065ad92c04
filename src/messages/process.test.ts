import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { countLockWaits } from '../../test/support/lock-waits.ts';
import { listUnknownIds, newMessage, resultOf, type StateRow, statesOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import type { Receipt, ReceiptState } from '../channels/carrier.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { insertConnection } from '../routing/connection-store.ts';
import { insertMessages } from './new-messages.ts';
import { insertReceiptBatches } from './receipt-store.ts';
import { processReceipts, retryUnmatched } from './receipts.ts';
import { receiveReceipts, settleOutcomes } from './settle.ts';

const { pool } = testDatabase();

beforeEach(() =>
  reset(pool, sql`TRUNCATE message, message_state, message_part, unknown_outcome, receipt_batch, receipt_unmatched`),
);

const now = (): Date => new Date();
const NUMBER = '+393331234567';

type Sent = {
  destination?: string;
  id?: string;
  carrierIds?: string[];
  connectionId?: number;
  accountId?: number;
  unknown?: boolean;
};

async function stored(
  { id = newId(), connectionId = 1, accountId = 1, ...more }: Sent,
  parts: number,
): Promise<string> {
  const { destination = NUMBER } = more;
  await insertMessages(pool, [newMessage({ id, connectionId, accountId, parts, destination })]);
  return id;
}

/** A message that the carrier took, or of which it reported only these ids before it stopped responding. */
async function sent(more: Sent, parts = more.carrierIds?.length ?? 1): Promise<string> {
  const { carrierIds = ['A1'], connectionId = 1, accountId = 1, unknown = false } = more;
  const id = await stored(more, parts);
  const outcome = unknown
    ? ({ kind: 'unknown', text: 'no response', carrierIds } as const)
    : ({ kind: 'accepted', carrierIds } as const);
  await settleOutcomes(pool, [resultOf(id, outcome, { accountId, connectionId })], false);
  return id;
}

/** Puts receipts into the inbox, one batch each, and processes them. */
async function arrive(receipts: readonly Receipt[], connectionId = 1): Promise<void> {
  for (const one of receipts) await insertReceiptBatches(pool, [{ connectionId, receipts: [one] }]);
  while ((await processReceipts(pool, now)) > 0);
}

const stateOf = async (id: string): Promise<StateRow | undefined> => (await statesOf(pool, [id])).get(id);
const statusOf = async (id: string): Promise<number | undefined> => (await stateOf(id))?.status;
const parked = (): Promise<{ reason: string; tries: number }[]> =>
  many(pool, sql`SELECT reason, tries FROM receipt_unmatched ORDER BY id`);
const allDue = (): Promise<number> => exec(pool, sql`UPDATE receipt_unmatched SET next_try_at = now()`);

describe('matching', () => {
  test('by the id exactly as the carrier spelled it', async () => {
    const id = await sent({ carrierIds: ['7220bb6bd0be98fa'] });
    await arrive([receipt('7220bb6bd0be98fa')]);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
    expect(await parked()).toEqual([]);
  });

  test.each([
    ['upper case', 'abc123xyz', 'ABC123XYZ'],
    ['lower case', 'ABC123XYZ', 'abc123xyz'],
    ['zeros lost', '0000123456', '123456'],
    ['zeros added', '4D2', '00004D2'],
    ['hexadecimal at submit, decimal in the receipt', '4D2', '1234'],
    ['hexadecimal in lower case at submit, decimal in the receipt', '4d2', '0000001234'],
    ['decimal at submit, hexadecimal in the receipt', '3735928559', 'DEADBEEF'],
    ['decimal at submit, hexadecimal in lower case and filled with zeros in the receipt', '3735928559', 'deadbeef'],
  ])('in another spelling: %s', async (_, atSubmit, inReceipt) => {
    const id = await sent({ carrierIds: [atSubmit] });
    await arrive([receipt(inReceipt)]);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
  });

  test('prefers the exact spelling to another message with a different spelling of the id', async () => {
    const exact = await sent({ carrierIds: ['1234'] });
    const other = await sent({ carrierIds: ['4D2'] });
    await arrive([receipt('1234')]);
    expect([await statusOf(exact), await statusOf(other)]).toEqual([STATUS.DELIVERED, STATUS.ACCEPTED]);
  });

  test('tries each id in the receipt', async () => {
    const id = await sent({ carrierIds: ['77'] });
    await arrive([receipt('', { carrierIds: ['unheard-of', '77'] })]);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
  });

  test('never crosses connections', async () => {
    const [here, there] = [await sent({ connectionId: 1 }), await sent({ connectionId: 2 })];
    await arrive([receipt('A1')], 2);
    expect([await statusOf(here), await statusOf(there)]).toEqual([STATUS.ACCEPTED, STATUS.DELIVERED]);
    await arrive([receipt('A1')], 3);
    expect(await parked()).toMatchObject([{ reason: 'unknown' }]);
  });

  test.each([
    ['two messages bear the id', ['A1'], ['A1'], ['A1']],
    ['two messages fit different spellings', ['4D2'], ['000004d2'], ['1234']],
    ['its own two ids belong to two messages', ['A1'], ['B2'], ['A1', 'B2']],
  ])('refuses to guess when %s', async (_, one, other, carrierIds) => {
    const ids = [await sent({ carrierIds: one }), await sent({ carrierIds: other })];
    await arrive([receipt('', { carrierIds })]);
    expect([...(await statesOf(pool, ids)).values()].map((s) => s.status)).toEqual([STATUS.ACCEPTED, STATUS.ACCEPTED]);
    expect(await parked()).toEqual([{ reason: 'ambiguous', tries: 1 }]);
  });

  test.each([
    ['as it was sent', '+393331234567', '393331234567'],
    ['without its plus sign or with two zeros', '+393331234567', '00393331234567'],
    ['without its country code', '+393331234567', '3331234567'],
    ['with a zero instead of its country code', '+351912345678', '0912345678'],
  ])(
    'of several messages with the id, the one sent to the number of the receipt is meant: %s',
    async (_, to, named) => {
      const ids = [
        await sent({ accountId: 2, destination: '+393339999999' }),
        await sent({ destination: to }),
        await sent({ destination: '+4915112345678' }),
      ];
      await arrive([receipt('A1', { destination: named })]);
      const { ACCEPTED, DELIVERED } = STATUS;
      expect([...(await statesOf(pool, ids)).values()].map((s) => s.status).toSorted()).toEqual(
        [ACCEPTED, DELIVERED, ACCEPTED].toSorted(),
      );
      expect(await statusOf(ids[1] ?? '')).toBe(DELIVERED);
    },
  );

  test.each([
    ['two of them were sent to its number', '393331234567'],
    ['none of them was', '393330000000'],
    ['its number is too short', '9999'],
    ['it names no number', ''],
  ])('of several messages with the id, none is meant when %s', async (_, destination) => {
    const ids = [await sent({}), await sent({}), await sent({ destination: '+393339999999' })];
    await arrive([receipt('A1', { destination })]);
    expect([...(await statesOf(pool, ids)).values()].map((s) => s.status)).toEqual(ids.map(() => STATUS.ACCEPTED));
    expect(await parked()).toEqual([{ reason: 'ambiguous', tries: 1 }]);
  });

  test('finds a message of an earlier day', async () => {
    const yesterday = new Date(Date.now() - 20 * 3_600_000).getTime().toString(16).padStart(12, '0');
    const id = await sent({ id: `${yesterday.slice(0, 8)}-${yesterday.slice(8)}-7000-8000-000000000001` });
    await arrive([receipt('A1')]);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
  });

  test('handles many receipts of several connections and accounts at the same time', async () => {
    const messages = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        sent({ carrierIds: [`id${n >> 1}`], connectionId: 1 + (n % 2), accountId: 1 + (n % 3) }),
      ),
    );
    await insertReceiptBatches(
      pool,
      [1, 2].map((connectionId) => ({
        connectionId,
        receipts: Array.from({ length: 30 }, (_, n) => receipt(`ID${n}`)),
      })),
    );
    expect(await processReceipts(pool, now)).toBe(60);
    const states = await statesOf(pool, messages);
    expect(messages.every((id) => states.get(id)?.status === STATUS.DELIVERED)).toBe(true);
  });
});

describe('the time of the final state', () => {
  const arrivedAt = new Date('2127-01-31T09:41:23.456Z');

  test.each([
    ['the minute in which it came', '09:41:00', arrivedAt],
    ['an earlier minute', '09:40:00', new Date('2127-01-31T09:40:00Z')],
    ['a later minute', '09:42:00', new Date('2127-01-31T09:42:00Z')],
    ['a second', '09:41:22', new Date('2127-01-31T09:41:22Z')],
    ['nothing', null, arrivedAt],
  ])('of a receipt that tells %s is as exact as can be known', async (_, said, doneAt) => {
    const id = await sent({});
    const receipts = [receipt('A1', { doneAt: said === null ? null : new Date(`2127-01-31T${said}Z`) })];
    await insertReceiptBatches(pool, [{ connectionId: 1, receipts }]);
    await exec(pool, sql`UPDATE receipt_batch SET received_at = ${arrivedAt}`);
    await processReceipts(pool, now);
    expect((await stateOf(id))?.doneAt).toEqual(doneAt);
  });
});

describe('parking', () => {
  test('a receipt that arrives before the response to its submit is matched once that is recorded', async () => {
    const id = await stored({}, 1);
    await arrive([receipt('A1')]);
    expect(await parked()).toEqual([{ reason: 'unknown', tries: 1 }]);
    await settleOutcomes(pool, [resultOf(id, { kind: 'accepted', carrierIds: ['A1'] })], false);
    await exec(pool, sql`UPDATE receipt_unmatched SET next_try_at = now() + interval '1 hour'`);
    expect(await retryUnmatched(pool, now)).toBe(0);
    await allDue();
    expect(await retryUnmatched(pool, now)).toBe(1);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
    expect(await parked()).toEqual([]);
  });

  test('a receipt that still matches nothing is postponed again and again, and never dropped', async () => {
    await arrive([receipt('A1')]);
    for (let tries = 1; tries < 30; tries++) {
      await allDue();
      expect(await retryUnmatched(pool, now)).toBe(1);
    }
    expect(await parked()).toEqual([{ reason: 'unknown', tries: 30 }]);
  });

  test('a parked receipt keeps the time at which it came', async () => {
    await arrive([receipt('A1')]);
    await exec(pool, sql`UPDATE receipt_unmatched SET received_at = now() - interval '3 hours', next_try_at = now()`);
    const id = await sent({});
    await exec(pool, sql`UPDATE message_state SET submitted_at = now() - interval '4 hours'`);
    await retryUnmatched(pool, now);
    const doneAt = (await stateOf(id))?.doneAt?.getTime() ?? 0;
    expect(Math.abs(Date.now() - doneAt - 3 * 3_600_000)).toBeLessThan(60_000);
  });

  test('a receipt that was ambiguous and then matches nothing has the new reason', async () => {
    await sent({ carrierIds: ['A1'] });
    await sent({ carrierIds: ['A1'] });
    await arrive([receipt('A1')]);
    await reset(pool, sql`TRUNCATE message_state`);
    await allDue();
    await retryUnmatched(pool, now);
    expect(await parked()).toMatchObject([{ reason: 'unknown' }]);
  });
});

describe('states', () => {
  test.each<[ReceiptState, number]>([
    ['DELIVERED', STATUS.DELIVERED],
    ['EXPIRED', STATUS.EXPIRED],
    ['DELETED', STATUS.DELETED],
    ['UNDELIVERABLE', STATUS.UNDELIVERABLE],
    ['REJECTED', STATUS.REJECTED],
    ['ACCEPTED', STATUS.ACCEPTED],
    ['UNKNOWN', STATUS.ACCEPTED],
  ])('%s leads to its status, and what is not final moves nothing', async (state, status) => {
    const id = await sent({});
    const doneAt = new Date(Date.now() + 60_000);
    await arrive([receipt('A1', { state, doneAt, errorCode: '001' })]);
    const moved = status !== STATUS.ACCEPTED;
    expect(await stateOf(id)).toMatchObject({ status, doneAt: moved ? doneAt : null, errorCode: moved ? '001' : null });
  });

  test('a final state sticks, in whatever order and however often receipts come', async () => {
    const id = await sent({});
    await arrive([
      receipt('A1'),
      receipt('A1'),
      receipt('A1', { state: 'UNDELIVERABLE' }),
      receipt('A1', { state: 'ACCEPTED' }),
    ]);
    expect(await stateOf(id)).toMatchObject({ status: STATUS.DELIVERED, errorText: null });
    expect(await parked()).toEqual([]);
  });

  test('of several in one batch the first final one counts', async () => {
    const id = await sent({});
    const list = [
      receipt('A1', { state: 'ACCEPTED' }),
      receipt('A1', { state: 'EXPIRED', raw: 'first' }),
      receipt('A1'),
    ];
    await insertReceiptBatches(pool, [{ connectionId: 1, receipts: list }]);
    await processReceipts(pool, now);
    expect(await stateOf(id)).toMatchObject({ status: STATUS.EXPIRED, errorText: 'first' });
  });

  test('of several batches taken at once the oldest counts', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, (_, n) => sent({ carrierIds: [`c${n}`] })));
    for (const state of ['EXPIRED', 'DELIVERED'] as const)
      await insertReceiptBatches(pool, [{ connectionId: 1, receipts: ids.map((_, n) => receipt(`c${n}`, { state })) }]);
    await processReceipts(pool, now);
    expect(await Promise.all(ids.map(statusOf))).toEqual(ids.map(() => STATUS.EXPIRED));
  });

  test('a time before the submit becomes that of the submit, because receipts are dated to the minute', async () => {
    const id = await sent({});
    await arrive([receipt('A1', { doneAt: new Date(Date.now() - 3_600_000) })]);
    const state = await stateOf(id);
    expect(state?.doneAt).toEqual(state?.submittedAt);
  });

  test('a receipt settles an unknown outcome and removes it from the list', async () => {
    const [settled, open] = [
      await sent({ unknown: true, carrierIds: [] }, 1),
      await sent({ unknown: true, carrierIds: [] }, 1),
    ];
    await exec(pool, sql`UPDATE message_state SET carrier_id = 'late' WHERE id = ${settled}`);
    await arrive([receipt('late')]);
    expect(await statusOf(settled)).toBe(STATUS.DELIVERED);
    expect(await listUnknownIds(pool)).toEqual(new Set([open]));
  });

  test('NUL and other garbage survive as text, and harm no other receipt', async () => {
    const ids = [await sent({ carrierIds: ['A1'] }), await sent({ carrierIds: ['A2'] })];
    const raw = 'stat:\0\u0001 "\\u0000" {,} NULL \ud800 💥';
    await arrive([
      receipt('A1', { state: 'REJECTED', raw, errorCode: '\0\\' }),
      receipt('\0\\"{}', { raw }),
      receipt('A2'),
    ]);
    expect(await statusOf(ids[1] ?? '')).toBe(STATUS.DELIVERED);
    const { errorText, errorCode } = (await stateOf(ids[0] ?? '')) ?? {};
    expect(errorText).toMatch(/^stat:�. ".*" \{,\} NULL � 💥$/u);
    expect(errorCode).toBe('�\\');
    expect(await parked()).toHaveLength(1);
  });
});

describe('messages of several parts', () => {
  test('are delivered when all their parts are, and not before', async () => {
    const id = await sent({ carrierIds: ['P1', 'P2', 'P3'] });
    await arrive([receipt('P3'), receipt('P1')]);
    expect(await statusOf(id)).toBe(STATUS.ACCEPTED);
    await arrive([receipt('P1')]);
    expect(await statusOf(id)).toBe(STATUS.ACCEPTED);
    const doneAt = new Date(Date.now() + 60_000);
    await arrive([receipt('P2', { doneAt })]);
    expect(await stateOf(id)).toMatchObject({ status: STATUS.DELIVERED, doneAt, errorText: null });
  });

  test('of a carrier that gives all parts one id are delivered by one receipt, and stay so', async () => {
    const id = await sent({ carrierIds: ['ONE', 'ONE', 'ONE'] });
    await arrive([receipt('ONE'), receipt('ONE', { state: 'UNDELIVERABLE' })]);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
    expect(await parked()).toEqual([]);
  });

  test('are not delivered by a receipt that fits two of their parts in different spellings', async () => {
    const id = await sent({ carrierIds: ['4D2', '1234', '77'] });
    await arrive([receipt('0001234')]);
    expect(await statusOf(id)).toBe(STATUS.ACCEPTED);
    expect(await parked()).toMatchObject([{ reason: 'ambiguous' }]);
  });

  test.each([
    ['any', 'P2', 'P1'],
    ['first', 'P1', 'P3'],
    ['last', 'P3', 'P1'],
  ])('of a carrier that reports %s part are delivered by its receipt', async (longReceipts, deciding, other) => {
    const name = `reports-${longReceipts}`;
    const made = await insertConnection(pool, { name, kind: 'smpp', sandbox: false, settings: { longReceipts } });
    const connectionId = made?.id ?? 0;
    onTestFinished(() => reset(pool, sql`TRUNCATE connection CASCADE`));
    const [id, second, failed] = [
      await sent({ connectionId, carrierIds: ['P1', 'P2', 'P3'] }),
      await sent({ connectionId, carrierIds: ['Q1', 'Q2', 'Q3'] }),
      await sent({ connectionId, carrierIds: ['R1', 'R2', 'R3'] }),
    ];
    await arrive([receipt(deciding), receipt(other.replace('P', 'Q'))], connectionId);
    await arrive([receipt('R2', { state: 'UNDELIVERABLE' })], connectionId);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
    expect(await statusOf(second)).toBe(longReceipts === 'any' ? STATUS.DELIVERED : STATUS.ACCEPTED);
    expect(await statusOf(failed)).toBe(STATUS.UNDELIVERABLE);
  });

  test('are delivered when the receipts of all parts come in one batch', async () => {
    const id = await sent({ carrierIds: ['P1', 'P2'] });
    await insertReceiptBatches(pool, [{ connectionId: 1, receipts: [receipt('P1'), receipt('P2')] }]);
    await processReceipts(pool, now);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
  });

  test('fail with the first part that does, with the text of its receipt, and stay failed', async () => {
    const id = await sent({ carrierIds: ['P1', 'P2', 'P3'] });
    const failed = receipt('P2', { state: 'UNDELIVERABLE', errorCode: '011', raw: 'no handset' });
    await arrive([receipt('P1'), failed]);
    expect(await stateOf(id)).toMatchObject({
      status: STATUS.UNDELIVERABLE,
      errorCode: '011',
      errorText: 'no handset',
    });
    await arrive([receipt('P3', { state: 'REJECTED' }), receipt('P2')]);
    expect(await stateOf(id)).toMatchObject({ status: STATUS.UNDELIVERABLE, errorCode: '011' });
  });

  test('of two final receipts of one part the first counts, in one batch too', async () => {
    const id = await sent({ carrierIds: ['P1', 'P2'] });
    const list = [receipt('P1'), receipt('P1', { state: 'EXPIRED' }), receipt('P2')];
    await insertReceiptBatches(pool, [{ connectionId: 1, receipts: list }]);
    await processReceipts(pool, now);
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
  });

  test('are not delivered with the first part when the other parts may not have been accepted', async () => {
    const id = await sent({ carrierIds: ['P1'], unknown: true }, 2);
    await arrive([receipt('P1')]);
    expect(await statusOf(id)).toBe(STATUS.UNKNOWN);
    expect(await listUnknownIds(pool)).toEqual(new Set([id]));
    expect(await parked()).toEqual([]);
  });
});

describe('several workers', () => {
  test('process one inbox together: each receipt once, none left', async () => {
    const ids = await Promise.all(Array.from({ length: 100 }, (_, n) => sent({ carrierIds: [`c${n}`, `d${n}`] })));
    for (let n = 0; n < 100; n++)
      await insertReceiptBatches(pool, [{ connectionId: 1, receipts: [receipt(`c${n}`), receipt(`d${99 - n}`)] }]);
    const drain = async (): Promise<number> => {
      let sum = 0;
      for (let taken = 1; taken > 0; sum += taken) taken = await processReceipts(pool, now);
      return sum;
    };
    const taken = await Promise.all([drain(), drain(), drain()]);
    expect(taken.reduce((sum, n) => sum + n, 0)).toBe(200);
    expect(new Set([...(await statesOf(pool, ids)).values()].map((s) => s.status))).toEqual(
      new Set([STATUS.DELIVERED]),
    );
  });

  test('that each get one part of a message at the same time find it complete', async () => {
    const id = await sent({ carrierIds: ['P1', 'P2'] });
    const other = await pool.connect();
    onTestFinished(() => other.release(true));
    await other.query('BEGIN');
    const first = { accountId: 1, messageId: id, part: 1, connectionId: 1, receipt: receipt('P1'), receivedAt: now() };
    expect(await receiveReceipts(other, [first])).toEqual(new Set());
    await insertReceiptBatches(pool, [{ connectionId: 1, receipts: [receipt('P2')] }]);
    const processing = processReceipts(pool, now);
    await until('the worker waits', async () => (await countLockWaits(pool)) === 1);
    await other.query('COMMIT');
    await processing;
    expect(await statusOf(id)).toBe(STATUS.DELIVERED);
  });

  test('lock the messages in one order whatever the order of the receipts, and cannot deadlock', async () => {
    const ids = (await Promise.all(Array.from({ length: 200 }, (_, n) => sent({ carrierIds: [`c${n}`] })))).sort();
    const states = await statesOf(pool, ids);
    const receipts = ids.toReversed().map((id) => receipt(states.get(id)?.carrierId ?? ''));
    await insertReceiptBatches(pool, [{ connectionId: 1, receipts }]);
    const other = await pool.connect();
    onTestFinished(() => other.release(true));
    await other.query('BEGIN');
    await other.query('SELECT FROM message_state WHERE id = $1 FOR UPDATE', [ids[0]]);
    const processing = processReceipts(pool, now);
    await until('the worker waits', async () => (await countLockWaits(pool)) === 1);
    await other.query('SELECT FROM message_state WHERE id = $1 FOR UPDATE NOWAIT', [ids.at(-1)]);
    await other.query('COMMIT');
    expect(await processing).toBe(200);
  });
});
