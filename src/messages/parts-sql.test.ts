import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { newMessage, resultOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { STATUS } from '../core/message-state.ts';
import { insertMessages } from './new-messages.ts';
import { claimStates, listPartStatuses, moveParts, type PartMove } from './parts.ts';
import { settleOutcomes } from './settle.ts';

const { pool } = testDatabase();

let ids: string[] = [];
let bounds = { firstId: '', lastId: '' };
beforeEach(async () => {
  await reset(pool, sql`TRUNCATE message, message_state, message_part`);
  const messages = Array.from({ length: 3 }, () => newMessage({ parts: 2 }));
  await insertMessages(pool, messages);
  ids = messages.map(({ id }) => id).sort();
  bounds = { firstId: ids[0] ?? '', lastId: ids[2] ?? '' };
  const outcome = { kind: 'accepted', carrierIds: ['A1', 'A2'] } as const;
  await settleOutcomes(
    pool,
    ids.map((id) => resultOf(id, outcome)),
    false,
  );
});

const outer = (accountId: number) => [ids[0], ids[2]].map((messageId = '') => ({ accountId, messageId }));
const firstParts = (accountId: number): PartMove[] =>
  outer(accountId).map((key) => ({ ...key, part: 1, status: STATUS.DELIVERED, doneAt: null, receiptText: null }));
const delivered = (): Promise<object[]> =>
  many(
    pool,
    sql`SELECT message_id AS "messageId", part FROM message_part WHERE status = ${STATUS.DELIVERED} ORDER BY 1, 2`,
  );

test('the parts that are named move, and no other part or message', async () => {
  const moved = await moveParts(pool, { moves: firstParts(1), ...bounds });
  expect(moved).toHaveLength(2);
  expect(await delivered()).toEqual(outer(1).map(({ messageId }) => ({ messageId, part: 1 })));
});

test('a part moves once', async () => {
  await moveParts(pool, { moves: firstParts(1), ...bounds });
  expect(await moveParts(pool, { moves: firstParts(1), ...bounds })).toEqual([]);
});

test('no part moves in the name of another account', async () => {
  expect(await moveParts(pool, { moves: firstParts(2), ...bounds })).toEqual([]);
  expect(await delivered()).toEqual([]);
});

test('the parts of the messages that are named are listed, and none in the name of another account', async () => {
  await exec(pool, sql`UPDATE message_part SET account_id = 2 WHERE message_id = ${ids[0]} AND part = 2`);
  const [first, last] = outer(1);
  const rows = await listPartStatuses(pool, { keys: outer(1), ...bounds });
  expect(rows.toSorted((a, b) => (a.messageId < b.messageId ? -1 : 1))).toEqual([
    { ...first, longReceipts: 'all', parts: 2, statuses: [STATUS.ACCEPTED], doneAt: null },
    { ...last, longReceipts: 'all', parts: 2, statuses: [STATUS.ACCEPTED, STATUS.ACCEPTED], doneAt: null },
  ]);
  expect(await listPartStatuses(pool, { keys: outer(2), ...bounds })).toEqual([]);
});

test('the states of the messages that are named stay locked until the transaction ends, and no others', async () => {
  const free = (): Promise<{ id: string }[]> =>
    many(pool, sql`SELECT id FROM message_state ORDER BY id FOR UPDATE SKIP LOCKED`);
  await transaction(pool, async (tx) => {
    await claimStates(tx, { keys: outer(2), ...bounds });
    expect(await free()).toHaveLength(3);
    await claimStates(tx, { keys: outer(1), ...bounds });
    expect(await free()).toEqual([{ id: ids[1] }]);
  });
  expect(await free()).toHaveLength(3);
});
