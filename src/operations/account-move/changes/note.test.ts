import { afterEach, beforeEach, expect, test } from 'vitest';
import { listSchemaFaults } from '../../../../scripts/schema-rules.ts';
import { countLockWaits } from '../../../../test/support/lock-waits.ts';
import { until } from '../../../../test/support/until.ts';
import { openTwoCells, runMoveTasks, type TwoCells } from '../../../../test/support/two-cells.ts';
import { exec, many, raw, sql } from '../../../platform/db/query.ts';
import { createPartitions } from '../../../platform/db/partitions.ts';
import { tenantTransaction } from '../../../platform/db/tenant.ts';
import { DAY_MS } from '../../../platform/lib/time.ts';
import { createAccount } from '../../accounts/create.ts';
import { listKeyOfRows, listOf } from '../rows.ts';
import { tryMoveLock } from '../sql.ts';
import { AHEAD } from '../tables.ts';
import { beginNotes, checkNotes, endNotes } from './note.ts';
import { listTriggers, runsOf } from './sql.ts';

let opened: AsyncDisposableStack;
let cells: TwoCells;
let accountId: number;
let pool: TwoCells['a']['pool'];

beforeEach(async () => {
  opened = new AsyncDisposableStack();
  cells = opened.use(await openTwoCells());
  pool = cells.a.pool;
  ({ accountId } = await createAccount(pool, { name: 'Acme', plan: 'production' }));
});
afterEach(() => opened.disposeAsync());

const listNoted = () =>
  many(
    pool,
    sql`SELECT DISTINCT table_name AS "table", key FROM account_change WHERE account_id = ${accountId} ORDER BY 1, 2`,
  );
const addMember = (owner: number, contactId: number, listId: number) =>
  exec(
    pool,
    sql`INSERT INTO contact_list_member (account_id, list_id, contact_id, name_key)
        VALUES (${owner}, ${listId}, ${contactId}, 'a')`,
  );

test('new, changed and deleted rows of the account are noted by their keys, and those of others are not', async () => {
  const other = await createAccount(pool, { name: 'Other', plan: 'production' });
  await addMember(accountId, 1, 10);
  await addMember(accountId, 2, 10);
  await addMember(accountId, 3, 10);
  await beginNotes(pool, { accountId });
  await addMember(accountId, 4, 10);
  await addMember(other.accountId, 5, 10);
  await exec(pool, sql`UPDATE contact_list_member SET list_id = 11 WHERE contact_id = 1`);
  await exec(pool, sql`DELETE FROM contact_list_member WHERE contact_id = 2`);
  const noted = [
    ['10', '1'],
    ['10', '2'],
    ['10', '4'],
    ['11', '1'],
  ];
  expect(await listNoted()).toEqual(noted.map((key) => ({ table: 'contact_list_member', key })));
});

test('what the second wall lets a tenant change is noted', async () => {
  await addMember(accountId, 1, 10);
  await beginNotes(pool, { accountId });
  await tenantTransaction(pool, { accountId }, (tx) =>
    exec(tx, sql`DELETE FROM contact_list_member WHERE contact_id = 1`),
  );
  expect(await listNoted()).toEqual([{ table: 'contact_list_member', key: ['10', '1'] }]);
});

test('a transaction that writes while notes begin is waited for', async () => {
  const writer = await pool.connect();
  await writer.query('BEGIN');
  await writer.query('UPDATE contact_list_member SET list_id = 10');
  const beginning = beginNotes(pool, { accountId });
  await until('a lock to be waited for', async () => (await countLockWaits(pool)) > 0);
  expect((await listTriggers(pool, { runs: runsOf(accountId) })).map(({ leaf }) => leaf)).not.toContain(
    'contact_list_member',
  );
  await writer.query('COMMIT');
  writer.release();
  await beginning;
});

test('each table that is copied ahead has its triggers, and none afterwards', async () => {
  const notes = await beginNotes(pool, { accountId });
  const noted = new Set(
    (await listTriggers(pool, { runs: runsOf(accountId) })).map(({ leaf }) => leaf.replace(/_\d{8}$/, '')),
  );
  expect([...noted].sort()).toEqual(AHEAD.map(([table]) => table).sort());
  await addMember(accountId, 1, 10);
  await endNotes(pool, notes);
  expect(await listTriggers(pool, { runs: 'note_change_' })).toEqual([]);
  expect(await listNoted()).toEqual([]);
  expect(await listSchemaFaults(pool)).toEqual([]);
});

test('changes that were not noted are found before the copy counts', async () => {
  await addMember(accountId, 1, 10);
  const notes = await beginNotes(pool, { accountId });
  await createPartitions(pool, [new Date(Date.now() + 20 * DAY_MS)]);
  await expect(checkNotes(pool, notes), 'a younger partition has no rows').resolves.toBeUndefined();
  const [trigger] = (await listTriggers(pool, { runs: runsOf(accountId) })).filter(
    ({ leaf }) => leaf === 'contact_list_member',
  );
  await exec(pool, raw(`DROP TRIGGER ${trigger?.names[0]} ON contact_list_member`));
  await expect(checkNotes(pool, notes)).rejects.toThrow('The changes of the table contact_list_member are not noted');
});

test('the end of one run leaves the notes of another', async () => {
  const first = await beginNotes(pool, { accountId });
  const second = await beginNotes(pool, { accountId });
  await addMember(accountId, 1, 10);
  await endNotes(pool, first);
  await expect(checkNotes(pool, second)).resolves.toBeUndefined();
  expect(await listNoted()).toEqual([{ table: 'contact_list_member', key: ['10', '1'] }]);
});

test.each(AHEAD.map(([table]) => table))('the columns of the key of %s are noted in their order', async (table) => {
  const key = await listKeyOfRows(pool, table);
  const values = key.map(({ type }, i) => (type === 'uuid' ? `00000000-0000-7000-8000-00000000000${i}` : String(i)));
  const names = key.map(({ name }) => name);
  await exec(
    pool,
    raw(`CREATE TABLE copied AS SELECT * FROM ${table} LIMIT 0;
         CREATE TRIGGER noting AFTER INSERT ON copied FOR EACH ROW
           EXECUTE FUNCTION note_change('new', 'run', '${table}', '${names.join(',')}');
         INSERT INTO copied (account_id, ${listOf(names).sql})
           VALUES (${[accountId, ...values].map((value) => `'${value}'`).join(', ')})`),
  );
  expect(await listNoted()).toEqual([{ table, key: values }]);
});

test('a worker ends the notes of a command that was killed, and of no other', async () => {
  await beginNotes(pool, { accountId });
  const runTask = () => runMoveTasks(cells.a, { databases: cells.urls });
  const command = await cells.a.openSession();
  await tryMoveLock(command, { accountId });
  await runTask();
  expect(await listTriggers(pool, { runs: runsOf(accountId) }), 'a command moves it').not.toEqual([]);
  await command.end();
  await addMember(accountId, 1, 10);
  await runTask();
  expect(await listTriggers(pool, { runs: 'note_change_' })).toEqual([]);
  expect(await listNoted()).toEqual([]);
});
