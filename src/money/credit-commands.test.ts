import { beforeAll, describe, expect, test } from 'vitest';
import { type CommandResult, commandsOn } from '../../test/support/command.ts';
import { testDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { many, one, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { registerAccountCommands } from '../operate/account-commands.ts';
import { registerOperations } from '../operations.ts';
import { freeze } from './credit.ts';

const database = testDatabase();
const { pool } = database;

let run: (...args: string[]) => Promise<CommandResult>;
beforeAll(async () => {
  run = commandsOn(database, registerAccountCommands, registerOperations);
});

test('credit add adds the amount to the account, with its reference in the ledger', async () => {
  const id = await createAccountWithCredit(pool, 0);
  const { code, answer } = await run('credit', 'add', String(id), '12.345678', '--reference', 'invoice 7');
  const credit = { credit: 12.345678, availableCredit: 12.345678, frozenCredit: 0, currency: 'EUR' };
  expect([code, answer]).toEqual([0, credit]);
  expect(await readBooks(pool, id)).toMatchObject({ outside: -12_345_678, available: 12_345_678 });
  expect(await one(pool, sql`SELECT kind, reference FROM ledger_entry WHERE account_id = ${id}`)).toEqual({
    kind: 'topup',
    reference: 'invoice 7',
  });
});

test('credit show prints the frozen credit, and that the ledger matches', async () => {
  const id = await createAccountWithCredit(pool, 2_000_000);
  await transaction(pool, (tx) => freeze(tx, [{ accountId: id, micros: 70_000 }], ''));
  expect((await run('credit', 'show', String(id))).answer).toMatchObject({
    id,
    availableCredit: 1.93,
    frozenCredit: 0.07,
    currency: 'EUR',
    ledgerAgrees: true,
  });
});

test.each(['credit_balance SET available_micros', 'credit_frozen SET micros'])(
  'credit show says so when the ledger disagrees: %s was changed behind it',
  async (column) => {
    const id = await createAccountWithCredit(pool, 2_000_000);
    await transaction(pool, (tx) => freeze(tx, [{ accountId: id, micros: 1 }], ''));
    await pool.query(`UPDATE ${column} = 5 WHERE account_id = $1`, [id]);
    expect((await run('credit', 'show', String(id))).answer).toMatchObject({ ledgerAgrees: false });
  },
);

/** Texts that are not valid amounts. */
const NO_AMOUNTS = ['-1', '0', 'NaN', 'ten', '1e30', '0.0000001', '1e-10', 'Infinity', '12,5', '9000000000'];

describe('an invalid amount is refused, and nothing is booked', () => {
  test.each(NO_AMOUNTS)('credit add %s', async (amount) => {
    const id = await createAccountWithCredit(pool, 0);
    const { code, stderr } = await run('credit', 'add', '--', String(id), amount);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^amount: must be/)]);
    expect(await readBooks(pool, id)).toEqual({ outside: 0, available: 0, frozen: 0, earned: 0 });
  });

  test.each(NO_AMOUNTS.filter((amount) => amount !== '0'))('account create --credit %s', async (amount) => {
    const before = await many(pool, sql`SELECT FROM account`);
    const { code, stderr } = await run('account', 'create', '--name', 'Poor', `--credit=${amount}`);
    expect([code, stderr]).toEqual([1, expect.stringContaining('--credit')]);
    expect(await many(pool, sql`SELECT FROM account`)).toEqual(before);
  });
});

test('an unknown account gets no credit', async () => {
  expect(await run('credit', 'add', 'Nobody', '5')).toMatchObject({ code: 1, stderr: 'There is no account Nobody\n' });
  expect(await run('credit', 'show', 'Nobody')).toMatchObject({ code: 1 });
});
