import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit } from '../../test/support/money.ts';
import { listAuditEntries, operatorAuthor } from '../accounts/audit.ts';
import { transaction } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import {
  addCredit,
  creditOf,
  findAvailableAfterEntry,
  findBalance,
  fitIntoCredit,
  freeze,
  listLedger,
  settleFrozen,
  topUp,
  updateUnlimited,
} from './credit.ts';

const { pool } = testDatabase();

test('the credit of an account is what is available and what is frozen together', async () => {
  const accountId = await createAccountWithCredit(pool, 10_000_000);
  await transaction(pool, (tx) => freeze(tx, [{ accountId, micros: 3_000_000 }], 'test'));
  expect(await creditOf(pool, { accountId })).toMatchObject({ credit: 10, frozenCredit: 3, availableCredit: 7 });
});

test('an account is allowed to spend more than it has without any other being allowed to', async () => {
  const [one, other] = [await createAccountWithCredit(pool, 0), await createAccountWithCredit(pool, 0)];
  expect(await updateUnlimited(pool, { accountId: one, unlimited: true })).toBe(1);
  const found = await Promise.all([one, other].map((accountId) => findBalance(pool, { accountId })));
  expect(found.map((balance) => balance?.unlimited)).toEqual([true, false]);
});

test('an account that pays after use is covered without any credit', async () => {
  const { accountId } = await createAccount(pool, { name: 'After use', plan: 'unlimited' });
  const charges = [{ accountId, micros: 5, key: null }];
  expect(await transaction(pool, (tx) => fitIntoCredit(tx, charges))).toEqual([null]);
});

test('credit that an operator adds is in the audit log of the account', async () => {
  const accountId = await createAccountWithCredit(pool, 0);
  const input = { amount: 2.5, reference: 'invoice 7' };
  await transaction(pool, (tx) => addCredit(tx, operatorAuthor(accountId, 'Ada'), input));
  const none = { subject: null, fromId: null, toId: null, limit: 10, offset: 0 };
  expect(await listAuditEntries(pool, { accountId, action: 'credit.add', ...none })).toMatchObject([
    { username: 'Ada', detail: { micros: 2_500_000, reference: 'invoice 7' } },
  ]);
});

test('the credit after an entry is not changed by what other accounts do', async () => {
  const [accountId, other] = [await createAccountWithCredit(pool, 100), await createAccountWithCredit(pool, 0)];
  await topUp(pool, { accountId: other, micros: 30, reference: 'theirs' });
  const [first] = await listLedger(pool, { accountId, kind: null, limit: 1, offset: 0 });
  expect(await findAvailableAfterEntry(pool, { accountId, id: first?.id ?? '' })).toBe(100);
});

test('messages that are settled never wait for the row that freezing locks', async () => {
  const accountId = await createAccountWithCredit(pool, 100);
  const charges = [{ accountId, micros: 1 }];
  for (let n = 0; n < 20; n++) {
    await transaction(pool, (tx) => freeze(tx, charges, 'test'));
    await transaction(pool, (tx) => settleFrozen(tx, { earned: charges, returned: [], reference: 'test' }));
  }
  const { rows } = await pool.query<{ shard: number; micros: number }>(
    'SELECT shard, micros FROM credit_frozen WHERE account_id = $1 AND micros > 0',
    [accountId],
  );
  expect(rows).toEqual([{ shard: 0, micros: 20 }]);
});
