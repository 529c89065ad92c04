import type { Pool } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { carryWhole, openTwoCells, runMoveTasks, type TwoCells } from '../../../test/support/two-cells.ts';
import { exec, sql } from '../../platform/db/query.ts';
import { silentLog } from '../../platform/lib/log.ts';
import { createAccount } from '../accounts/create.ts';
import { openDirectory } from '../directory/open.ts';
import { findAccountCell, holdAccount, lockAccountCell } from '../directory/sql.ts';
import { matchConnections } from './check.ts';
import { completeMove } from './complete.ts';
import { freeze } from './leave.ts';
import { measureAccount } from './measure.ts';
import { findMove, isServed, tryMoveLock } from './sql.ts';
import { countLockWaits } from '../../../test/support/lock-waits.ts';

let opened: AsyncDisposableStack;
let cells: TwoCells;
let directory: Pool;
let directoryUrl: string;
let accountId: number;

beforeEach(async () => {
  opened = new AsyncDisposableStack();
  cells = opened.use(await openTwoCells());
  ({ connectionString: directoryUrl } = opened.use(await createTestDatabase({ empty: true })));
  directory = await openDirectory(directoryUrl, silentLog);
  opened.defer(() => directory.end());
  ({ accountId } = await createAccount(cells.a.pool, { name: 'Acme', plan: 'production', creditMicros: 5_000_000 }));
});
afterEach(() => opened.disposeAsync());

/** Has the account leave cell 0 for cell 1, behind a directory, as a command does that is killed then. */
async function leave(): Promise<void> {
  const { a, b } = cells;
  await holdAccount(directory, { accountId });
  await freeze(a.pool, { accountId, cell: 1, hasDirectory: true, seconds: 60 });
  await carryWhole({ source: a, target: b, accountId, ids: await matchConnections(a.pool, b.pool) });
}

test('a move stays open until the directory sends requests to the new cell, whichever process completes it', async () => {
  await leave();
  const { a, b, urls: databases } = cells;
  await expect(runMoveTasks(a, { databases })).rejects.toThrow(/is served in cell 1, .* set DIRECTORY_URL/);
  expect(await isServed(b.pool, { accountId })).toBe(true);
  expect(await findMove(a.pool, { accountId })).toMatchObject({ state: 'left', arrived: false });
  await runMoveTasks(a, { databases, directoryUrl });
  expect(await findMove(a.pool, { accountId })).toMatchObject({ state: 'left', arrived: true });
  expect(await findAccountCell(directory, { accountId })).toMatchObject({ cell: 1, movingSince: null });
});

test('a process that completes a move late does not take back a later one', async () => {
  await leave();
  const { a, b } = cells;
  const ends = { source: a.pool, target: b.pool, directory };
  const move = { accountId, cell: 1, hasDirectory: true };
  await completeMove(ends, move);
  const other = await directory.connect();
  await other.query('BEGIN');
  await lockAccountCell(other, { accountId });
  const late = completeMove(ends, move);
  await expect.poll(() => countLockWaits(directory)).toBe(1);
  await exec(b.pool, sql`INSERT INTO account_move (account_id, state, cell) VALUES (${accountId}, 'left', 0)`);
  await other.query('UPDATE account_cell SET cell = 0');
  await other.query('COMMIT');
  other.release();
  await late;
  expect(await findAccountCell(directory, { accountId })).toMatchObject({ cell: 0 });
});

test('a worker deletes the copy of a move that took too long, unless a command moves the account again', async () => {
  await leave();
  const { a, b, urls: databases } = cells;
  // As when the commit in the source was lost, and the minute is over.
  const giveUp = () =>
    exec(
      a.pool,
      sql`INSERT INTO account_move (account_id, state, cell, ends_at) VALUES (${accountId}, 'leaving', 1, now())
          ON CONFLICT (account_id) DO UPDATE SET state = 'leaving', ends_at = now()`,
    );
  await giveUp();
  const command = await a.openSession();
  await tryMoveLock(command, { accountId });
  await runMoveTasks(a, { databases, directoryUrl });
  expect(await isServed(a.pool, { accountId })).toBe(true);
  expect(await findMove(b.pool, { accountId })).toMatchObject({ state: 'arriving' });
  await command.end();
  await giveUp();
  await runMoveTasks(a, { databases, directoryUrl });
  expect(await findMove(b.pool, { accountId })).toBeUndefined();
  expect((await measureAccount(b.pool, accountId)).rows).toBe(0);
});
