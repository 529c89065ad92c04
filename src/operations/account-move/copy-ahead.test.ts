import { afterEach, beforeEach, expect, test } from 'vitest';
import { queueMessages } from '../../../test/support/queue.ts';
import { openTwoCells, runMoveTasks, type TwoCells } from '../../../test/support/two-cells.ts';
import { listOpenMessages } from '../../messaging/expiry/sql.ts';
import { STATUS } from '../../messaging/states.ts';
import { exec, many, raw, sql } from '../../platform/db/query.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import { createAccount } from '../accounts/create.ts';
import { beginNotes } from './changes/note.ts';
import { carryOver } from './carry-over.ts';
import { matchConnections } from './check.ts';
import { completeMove } from './complete.ts';
import { catchUp, catchUpAndCompare, copyAhead } from './copy-ahead.ts';
import { freeze } from './leave.ts';
import { removeArriving } from './move.ts';
import { measureAccount } from './measure.ts';
import { findMove, tryMoveLock } from './sql.ts';

let opened: AsyncDisposableStack;
let cells: TwoCells;
let accountId: number;

beforeEach(async () => {
  opened = new AsyncDisposableStack();
  cells = opened.use(await openTwoCells());
  ({ accountId } = await createAccount(cells.a.pool, { name: 'Acme', plan: 'production', creditMicros: 5_000_000 }));
});
afterEach(() => opened.disposeAsync());

const between = async () => ({
  source: cells.a,
  target: cells.b,
  accountId,
  ids: await matchConnections(cells.a.pool, cells.b.pool),
});

/** Has the account leave, with what `meanwhile` changes between the two copies. */
async function moveWith(meanwhile: () => Promise<unknown>): Promise<void> {
  const move = await between();
  const notes = await beginNotes(cells.a.pool, { accountId });
  const { copy } = await copyAhead(move);
  await meanwhile();
  await freeze(cells.a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 60 });
  await carryOver({ ...move, notes, copy });
}

const addContact = (id: number, phoneNumber: string) =>
  exec(
    cells.a.pool,
    sql`INSERT INTO contact (account_id, id, phone_number, is_valid, channels) OVERRIDING SYSTEM VALUE
        VALUES (${accountId}, ${id}, ${phoneNumber}, true, 1)`,
  );

/** The rows of a table in both cells, which must be equal; returns how many there are. */
async function expectSame(table: string): Promise<number> {
  const query = sql`SELECT to_jsonb(t) - 'connection_id' AS row FROM ${raw(table)} t ORDER BY id`;
  const [here, there] = [await many<{ row: unknown }>(cells.a.pool, query), await many(cells.b.pool, query)];
  expect(there).toEqual(here);
  return here.length;
}

test('what is new or has changed since the first copy is in the second, and nothing is there before', async () => {
  const { a, b, mainOfA } = cells;
  const queue = (count: number) => queueMessages(a.pool, { accountId, connectionId: mainOfA, count });
  const [changed, frozen] = await queue(5);
  await addContact(1, '351912345678');
  await moveWith(async () => {
    expect(await findMove(b.pool, { accountId })).toMatchObject({ state: 'arriving' });
    expect(await many(b.pool, sql`SELECT FROM message`)).toHaveLength(5);
    await exec(a.pool, sql`UPDATE message SET body = 'changed' WHERE id = ${changed}`);
    await exec(a.pool, sql`UPDATE message SET body = 'frozen' WHERE id = ${frozen}`);
    await queue(3);
    await exec(a.pool, sql`UPDATE contact SET first_name = 'Ana'`);
  });
  expect(await expectSame('message')).toBe(8);
  expect(await expectSame('contact')).toBe(1);
});

test('what changes during the first copy and after it is caught up with, before the account is held', async () => {
  const { a, mainOfA } = cells;
  const queue = (count: number) => queueMessages(a.pool, { accountId, connectionId: mainOfA, count });
  const [changed] = await queue(2);
  await addContact(1, '351912345678');
  const move = await between();
  const notes = await beginNotes(a.pool, { accountId });
  const first = await copyAhead(move);
  await exec(a.pool, sql`UPDATE message SET body = 'changed' WHERE id = ${changed}`);
  await queue(1);
  await exec(a.pool, sql`DELETE FROM contact`);
  const second = await catchUp({ ...move, notes, copy: first.copy });
  expect(await expectSame('message')).toBe(3);
  expect(await expectSame('contact')).toBe(0);
  await exec(a.pool, sql`UPDATE message SET body = 'later' WHERE id = ${changed}`);
  await freeze(a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 60 });
  await carryOver({ ...move, notes, copy: second.copy });
  expect(await expectSame('message')).toBe(3);
});

test('a table of the copy that differs is copied again, and named', async () => {
  const { a, b } = cells;
  await addContact(1, '351912345678');
  await addContact(2, '351912345679');
  const move = await between();
  const notes = await beginNotes(a.pool, { accountId });
  const { copy } = await copyAhead(move);
  await exec(b.pool, sql`DELETE FROM contact WHERE id = 2`);
  const differing: string[] = [];
  await catchUpAndCompare({ ...move, notes, copy, onDifference: (table) => differing.push(table) });
  expect(differing).toEqual(['contact']);
  expect(await expectSame('contact')).toBe(2);
});

test('an account does not leave for a target that has lost the copy, or has an older one', async () => {
  const { a, b } = cells;
  await addContact(1, '351912345678');
  const move = await between();
  const notes = await beginNotes(a.pool, { accountId });
  const older = await copyAhead(move);
  const newer = await catchUp({ ...move, notes, copy: older.copy });
  await freeze(a.pool, { accountId, cell: 1, hasDirectory: false, seconds: 60 });
  const refused = 'The copy in the target is gone, or an older one';
  await expect(carryOver({ ...move, notes, copy: older.copy })).rejects.toThrow(refused);
  await removeArriving(b.pool, accountId);
  await expect(carryOver({ ...move, notes, copy: newer.copy })).rejects.toThrow(refused);
});

test('rows that have not changed are not written again when others were deleted', async () => {
  const { a, b } = cells;
  await addContact(1, '351912345678');
  await addContact(2, '351912345679');
  const places = () => many(b.pool, sql`SELECT id, xmin::text AS xmin FROM contact WHERE id = 2`);
  let before: unknown;
  await moveWith(async () => {
    before = await places();
    await exec(a.pool, sql`DELETE FROM contact WHERE id = 1`);
  });
  expect(await expectSame('contact')).toBe(1);
  expect(await places()).toEqual(before);
});

test('a part of a copy is never served, and no message of it ends there', async () => {
  const { a, b, mainOfA } = cells;
  const [id = ''] = await queueMessages(a.pool, { accountId, connectionId: mainOfA });
  await exec(
    a.pool,
    sql`INSERT INTO message_state (account_id, id, status, attempts, updated_at, credit_held, channel)
        VALUES (${accountId}, ${id}, ${STATUS.ACCEPTED}, 1, now(), false, 1)`,
  );
  await copyAhead(await between());
  const ends = { source: a.pool, target: b.pool, directory: null };
  const completing = completeMove(ends, { accountId, cell: 1, hasDirectory: false });
  await expect(completing).rejects.toThrow('Cell 1 does not have the account');
  expect(await findMove(b.pool, { accountId })).toMatchObject({ state: 'arriving', isComplete: false });
  const range = { firstId: firstIdAt(new Date(0)), endId: firstIdAt(new Date(Date.now() + 60_000)) };
  expect(await listOpenMessages(a.pool, range)).toHaveLength(1);
  expect(await listOpenMessages(b.pool, range)).toEqual([]);
});

test('a worker removes a copy whose command was killed before the account was to leave, and no other', async () => {
  const { a, b, urls: databases } = cells;
  await addContact(1, '351912345678');
  await copyAhead(await between());
  const runTask = () => runMoveTasks(b, { databases });
  const isHere = async () => (await findMove(b.pool, { accountId })) !== undefined;
  await runTask();
  expect(await isHere(), 'it is young').toBe(true);
  await exec(b.pool, sql`UPDATE account_move SET since = now() - interval '2 minutes'`);
  const command = await a.openSession();
  await tryMoveLock(command, { accountId });
  await runTask();
  expect(await isHere(), 'a command moves it').toBe(true);
  await command.end();
  await exec(
    a.pool,
    sql`INSERT INTO account_move (account_id, state, cell, ends_at) VALUES (${accountId}, 'leaving', 1, now() + interval '1 hour')`,
  );
  await runTask();
  expect(await isHere(), 'it is leaving').toBe(true);
  await exec(a.pool, sql`DELETE FROM account_move`);
  await runTask();
  expect(await isHere()).toBe(false);
  expect((await measureAccount(b.pool, accountId)).rows).toBe(0);
});

test('what is deleted between the two copies is in none, also when its number belongs to a new row', async () => {
  const { a } = cells;
  await addContact(1, '351912345678');
  await addContact(2, '351912345679');
  await addContact(3, '351912345670');
  await moveWith(async () => {
    await exec(a.pool, sql`DELETE FROM contact WHERE id IN (1, 2)`);
    await addContact(4, '351912345678');
  });
  expect(await expectSame('contact')).toBe(2);
});
