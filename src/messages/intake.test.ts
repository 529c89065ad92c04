import type { PoolClient } from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { countLockWaits } from '../../test/support/lock-waits.ts';
import { newMessage, resultOf, statesOf } from '../../test/support/queue.ts';
import { receipt } from '../../test/support/receipts.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import { createPool } from '../core/db/pool.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { newId } from '../core/ids.ts';
import { silentLog } from '../core/log.ts';
import { STATUS } from '../core/message-state.ts';
import { insertMessages } from './new-messages.ts';
import { insertReceiptBatches } from './receipt-store.ts';
import { createReceiptIntake, processReceipts, retryUnmatched, type TakeReceipt } from './receipts.ts';
import { settleOutcomes } from './settle.ts';

const { pool } = testDatabase();

beforeEach(() =>
  reset(pool, sql`TRUNCATE message, message_state, message_part, unknown_outcome, receipt_batch, receipt_unmatched`),
);

const now = (): Date => new Date();

/** Messages that the carrier took under these ids, one for each part; the others were never submitted. */
async function sent(...carrierIds: readonly (readonly string[])[]): Promise<string[]> {
  const messages = carrierIds.map(({ length }) => newMessage({ id: newId(), parts: length }));
  await insertMessages(pool, messages);
  const ids = messages.map(({ id }) => id);
  await settleOutcomes(
    pool,
    ids.map((id, n) => resultOf(id, { kind: 'accepted', carrierIds: carrierIds[n] ?? [] })),
    false,
  );
  return ids;
}

type Intake = { readonly take: TakeReceipt; readonly events: string[]; readonly failures: string[] };

/** An intake like that of a process, with its calls and log. */
function openIntake(of = pool, untilSettled?: (ids: ReadonlySet<number>) => Promise<unknown>): Intake {
  const events: string[] = [];
  const failures: string[] = [];
  const log = { ...silentLog, warn: (fields: object) => failures.push(String((fields as { err: unknown }).err)) };
  const onStored = (): void => void events.push('stored');
  const onParked = (): void => void events.push('parked');
  const settled = untilSettled && { untilSettled };
  return { take: createReceiptIntake({ pool: of, now, log, onStored, onParked, ...settled }), events, failures };
}

/** Takes a receipt of connection 1. */
const takeOne = ({ take }: Intake, carrierId: string, more = {}): Promise<void> =>
  take({ connectionId: 1, receipt: receipt(carrierId, more) });

const statusesOf = async (ids: readonly string[]): Promise<(number | undefined)[]> => {
  const states = await statesOf(pool, ids);
  return ids.map((id) => states.get(id)?.status);
};

/** The carrier ids in the inbox and of the parked receipts, in order. */
const listLeft = async (connectionId = 1): Promise<{ inbox: string[]; parked: string[] }> => {
  const inbox = await many<{ id: string }>(
    pool,
    sql`SELECT receipt->0->>0 AS id FROM receipt_batch, json_array_elements(receipts) WITH ORDINALITY AS r (receipt, n)
        WHERE connection_id = ${connectionId} ORDER BY receipt_batch.id, n`,
  );
  const parked = await many<{ id: string }>(
    pool,
    sql`SELECT receipt->'carrierIds'->>0 AS id FROM receipt_unmatched
        WHERE connection_id = ${connectionId} ORDER BY receipt_unmatched.id`,
  );
  return { inbox: inbox.map(({ id }) => id), parked: parked.map(({ id }) => id) };
};

/** Locks the state of a message, like another transaction that moves it, until the client commits. */
async function lockState(id: string | undefined): Promise<PoolClient> {
  const client = await pool.connect();
  onTestFinished(() => client.release(true));
  await client.query('BEGIN');
  await client.query('SELECT FROM message_state WHERE id = $1 FOR UPDATE', [id]);
  return client;
}

test('a receipt is settled and committed before its promise resolves, and leaves nothing to do', async () => {
  const ids = await sent(['A1']);
  const intake = openIntake();
  await takeOne(intake, 'A1');
  expect(await statusesOf(ids)).toEqual([STATUS.DELIVERED]);
  expect([intake.events, await listLeft()]).toEqual([[], { inbox: [], parked: [] }]);
});

test('a receipt that comes before its message is parked, and its worker woken, before its promise resolves', async () => {
  const intake = openIntake();
  await takeOne(intake, 'early').then(() => intake.events.push('answered'));
  expect(intake.events).toEqual(['parked', 'answered']);
  expect(await listLeft()).toEqual({ inbox: [], parked: ['early'] });
});

test('a receipt that comes right after the response to its message waits for that outcome, and finds the message', async () => {
  const message = newMessage();
  await insertMessages(pool, [message]);
  const asked: number[] = [];
  const intake = openIntake(pool, async (connectionIds) => {
    asked.push(...connectionIds);
    await settleOutcomes(pool, [resultOf(message.id, { kind: 'accepted', carrierIds: ['A1'] })], false);
  });
  await takeOne(intake, 'A1');
  expect([asked, intake.events]).toEqual([[1], []]);
  expect(await statusesOf([message.id])).toEqual([STATUS.DELIVERED]);
});

test('the acknowledgement waits for the commit', async () => {
  const [id] = await sent(['A1']);
  const other = await lockState(id);
  let answered = false;
  const intake = openIntake();
  const taking = takeOne(intake, 'A1').then(() => {
    answered = true;
  });
  await until('the receipt waits for the lock', async () => (await countLockWaits(pool)) === 1);
  const whileLocked = answered;
  await other.query('COMMIT');
  await taking;
  await processReceipts(pool, now);
  // On a machine that is busy for two seconds the receipt is in the inbox by now, and may get a response.
  expect(whileLocked && intake.failures.length === 0).toBe(false);
  expect(await statusesOf([id ?? ''])).toEqual([STATUS.DELIVERED]);
});

test('what cannot be settled within seconds goes through the inbox: it gets a response, and nothing is lost', async () => {
  const ids = await sent(['A1'], ['A2'], ['A3']);
  const intake = openIntake();
  const other = await lockState(ids[0]);
  // As many as one transaction takes; the last one comes after it.
  const names = ['A1', 'A2', ...Array.from({ length: 998 }, (_, n) => `c${n}`), 'A3'];
  await Promise.all(names.map((name) => takeOne(intake, name)));
  expect(intake.events).toEqual(['stored', 'stored']);
  expect(intake.failures).toEqual([expect.stringContaining('statement timeout')]);
  expect(await listLeft()).toEqual({ inbox: names, parked: [] });
  await other.query('COMMIT');
  expect(await processReceipts(pool, now)).toBe(1001);
  expect(await statusesOf(ids)).toEqual([STATUS.DELIVERED, STATUS.DELIVERED, STATUS.DELIVERED]);
});

test('receipts that arrive together are committed together, in the order in which they arrived', async () => {
  const { take } = openIntake();
  const names = Array.from({ length: 3000 }, (_, n) => `c${n}`);
  const promises = names.map((name, n) => take({ connectionId: 1 + (n % 2), receipt: receipt(name) }));
  await Promise.all(promises);
  expect(new Set(promises).size).toBe(3);
  expect((await listLeft(1)).parked).toEqual(names.filter((_, n) => n % 2 === 0));
  expect((await listLeft(2)).parked).toEqual(names.filter((_, n) => n % 2 === 1));
});

test('of more than carriers can wait for, the first go to the inbox', async () => {
  const intake = openIntake();
  const names = Array.from({ length: 8000 }, (_, n) => `c${n}`);
  await Promise.all(names.map((name) => takeOne(intake, name)));
  expect(await listLeft()).toEqual({ inbox: names.slice(0, 2000), parked: names.slice(2000) });
  expect(intake.failures).toEqual([]);
});

test('a receipt that cannot be committed is an error: the carrier must not get an acknowledgement', async () => {
  const away = createPool('postgres://nobody@127.0.0.1:1/none', { max: 1, applicationName: 'test', log: silentLog });
  onTestFinished(() => away.end());
  const intake = openIntake(away);
  await expect(takeOne(intake, 'A1')).rejects.toThrow('ECONNREFUSED');
  expect(intake.events).toEqual([]);
});

test('NUL and other garbage survive as text, and harm no other receipt', async () => {
  const ids = await sent(['A1'], ['A2']);
  const intake = openIntake();
  const raw = 'stat:\0\u0001 "\\u0000" {,} NULL \ud800 💥';
  await Promise.all([
    takeOne(intake, 'A1', { state: 'REJECTED', raw, errorCode: '\0\\' }),
    takeOne(intake, '\0\\"{}', { raw, sender: '\0', destination: '\0' }),
    takeOne(intake, 'A2'),
  ]);
  expect(intake.failures).toEqual([]);
  expect(await statusesOf(ids)).toEqual([STATUS.REJECTED, STATUS.DELIVERED]);
  const { errorText, errorCode } = (await statesOf(pool, ids)).get(ids[0] ?? '') ?? {};
  expect(errorText).toMatch(/^stat:�. ".*" \{,\} NULL � 💥$/u);
  expect(errorCode).toBe('�\\');
  expect(await many(pool, sql`SELECT FROM receipt_unmatched`)).toHaveLength(1);
});

test('processes that get receipts of the same messages in opposite orders never wait for each other in a circle', async () => {
  const carrierIds = Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? [`c${n}`] : [`c${n}`, `d${n}`]));
  const ids = await sent(...carrierIds);
  const all = carrierIds.flat();
  const [one, two] = [openIntake(), openIntake()];
  for (let round = 0; round < 5; round++)
    await Promise.all([...all.map((id) => takeOne(one, id)), ...all.toReversed().map((id) => takeOne(two, id))]);
  while ((await processReceipts(pool, now)) > 0);
  expect([...one.failures, ...two.failures].filter((failure) => failure.includes('deadlock'))).toEqual([]);
  expect(new Set(await statusesOf(ids))).toEqual(new Set([STATUS.DELIVERED]));
  expect(await listLeft()).toEqual({ inbox: [], parked: [] });
});

describe('what cannot be processed', () => {
  const allDue = (): Promise<number> =>
    exec(pool, sql`UPDATE receipt_unmatched SET next_try_at = now() - interval '1 minute'`);

  test('is tried again until it can', async () => {
    const ids = await sent(['A1']);
    const noClock = (): Date => {
      throw new Error('no time');
    };
    const failures: unknown[] = [];
    const onFailure = (error: unknown): void => void failures.push(error);
    await insertReceiptBatches(pool, [{ connectionId: 1, receipts: [receipt('A1')] }]);
    expect(await processReceipts(pool, noClock, { onFailure })).toBe(1);
    await allDue();
    expect(await retryUnmatched(pool, noClock, { onFailure })).toBe(1);
    expect(failures).toEqual([new Error('no time'), new Error('no time')]);
    expect(await statusesOf(ids)).toEqual([STATUS.ACCEPTED]);
    expect(await listLeft()).toEqual({ inbox: [], parked: ['A1'] });
    await allDue();
    expect(await retryUnmatched(pool, now)).toBe(1);
    expect([await statusesOf(ids), await listLeft()]).toEqual([[STATUS.DELIVERED], { inbox: [], parked: [] }]);
  });

  test('gets a response, stays parked, and holds up no other receipt', async () => {
    const names = Array.from({ length: 50 }, (_, n) => `c${n}`);
    const ids = await sent(...names.map((name) => [name]));
    await refuseMovesOf(ids[20]);
    const intake = openIntake();
    await Promise.all(names.map((name) => takeOne(intake, name)));
    const failures: string[] = [];
    const onFailure = (error: unknown): void => void failures.push(String(error));
    while ((await processReceipts(pool, now, { onFailure })) > 0);
    await allDue();
    while ((await retryUnmatched(pool, now, { onFailure })) > 0);
    const statuses = await statusesOf(ids);
    expect(names.filter((_, n) => statuses[n] !== STATUS.DELIVERED)).toEqual(['c20']);
    expect(await listLeft()).toEqual({ inbox: [], parked: ['c20'] });
    expect(new Set([...intake.failures, ...failures])).toEqual(new Set(['error: refused']));
  });
});

/** Makes the database refuse every change of a message, until the test ends. */
async function refuseMovesOf(id: string | undefined): Promise<void> {
  await pool.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''refused''; END'`);
  await pool.query(`CREATE TRIGGER refuse BEFORE UPDATE ON message_state FOR EACH ROW WHEN (OLD.id = '${id}')
                    EXECUTE FUNCTION refuse()`);
  onTestFinished(async () => {
    await pool.query('DROP FUNCTION refuse CASCADE');
  });
}
