import { fc, test as propertyTest } from '@fast-check/vitest';
import { describe, expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { countLockWaits } from '../../test/support/lock-waits.ts';
import { type Books, createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { runs } from '../../test/support/runs.ts';
import { until } from '../../test/support/until.ts';
import type { Db } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import {
  type Charge,
  fitIntoCredit,
  freeze,
  isShortage,
  listLedger,
  settleFrozen,
  topUp,
  updateAvailable,
  updateFrozen,
} from './credit.ts';

const { pool } = testDatabase();

const freezeAll = (charges: readonly Charge[]): Promise<boolean> =>
  transaction(pool, (tx) => freeze(tx, charges, 'test')).then(
    () => true,
    (error: unknown) => {
      if (!isShortage(error)) throw error;
      return false;
    },
  );
const settle = (earned: readonly Charge[], returned: readonly Charge[]): Promise<void> =>
  transaction(pool, (tx) => settleFrozen(tx, { earned, returned, reference: 'test' }));

describe('after each entry the books add up to zero and match the balance', () => {
  test('a top-up is available', async () => {
    const accountId = await createAccountWithCredit(pool, 0);
    await topUp(pool, { accountId, micros: 70, reference: 'invoice 7' });
    expect(await readBooks(pool, accountId)).toEqual({ outside: -70, available: 70, frozen: 0, earned: 0 });
  });

  test('frozen credit is not available, and settled credit is earned or available again', async () => {
    const accountId = await createAccountWithCredit(pool, 100);
    const charges = [60, 25, 15].map((micros) => ({ accountId, micros }));
    expect(await freezeAll(charges)).toBe(true);
    expect(await readBooks(pool, accountId)).toEqual({ outside: -100, available: 0, frozen: 100, earned: 0 });
    await settle(charges.slice(0, 1), charges.slice(1, 2));
    expect(await readBooks(pool, accountId)).toEqual({ outside: -100, available: 25, frozen: 15, earned: 60 });
  });

  test('free messages change nothing', async () => {
    const accountId = await createAccountWithCredit(pool, 0);
    const free = [{ accountId, micros: 0 }];
    expect(await freezeAll(free)).toBe(true);
    await settle(free, free);
    expect(await pool.query('SELECT FROM ledger_entry WHERE account_id = $1', [accountId])).toMatchObject({
      rowCount: 0,
    });
  });

  test('each account gets one entry for all its messages, which says how many they are', async () => {
    const [one, other] = [await createAccountWithCredit(pool, 100), await createAccountWithCredit(pool, 100)];
    const charges = [10, 0, 20, 5].map((micros) => ({ accountId: one, micros }));
    await freezeAll([...charges, { accountId: other, micros: 7 }]);
    await settle(charges.slice(0, 3), charges.slice(3));
    const entriesOf = async (accountId: number) =>
      (await listLedger(pool, { accountId, kind: null, limit: 10, offset: 0 }))
        .filter(({ kind }) => kind !== 'topup')
        .map(({ kind, messages, amountMicros }) => [kind, messages, amountMicros]);
    expect(new Set(await entriesOf(one))).toEqual(
      new Set([
        ['freeze', 3, 35],
        ['settle', 2, 30],
        ['return', 1, 5],
      ]),
    );
    expect(await entriesOf(other)).toEqual([['freeze', 1, 7]]);
  });

  test('an account that pays afterwards may go below zero', async () => {
    const accountId = await createAccountWithCredit(pool, 0);
    await pool.query('UPDATE credit_balance SET unlimited = true WHERE account_id = $1', [accountId]);
    expect(await freezeAll([{ accountId, micros: 40 }])).toBe(true);
    expect(await readBooks(pool, accountId)).toMatchObject({ available: -40, frozen: 40 });
  });
});

describe('short credit', () => {
  test('fails the whole transaction, also for accounts that have enough', async () => {
    const [rich, poor] = [await createAccountWithCredit(pool, 1000), await createAccountWithCredit(pool, 9)];
    const charges = [
      { accountId: rich, micros: 10 },
      { accountId: poor, micros: 10 },
    ];
    expect(await freezeAll(charges)).toBe(false);
    expect(await readBooks(pool, rich)).toMatchObject({ available: 1000, frozen: 0 });
    expect(await readBooks(pool, poor)).toMatchObject({ available: 9, frozen: 0 });
  });

  test('is also found where there is no balance at all', async () => {
    expect(await freezeAll([{ accountId: 999_999, micros: 1 }])).toBe(false);
  });

  test('covers messages in order while the credit lasts, and those paid under the same key', async () => {
    const [one, two] = [await createAccountWithCredit(pool, 5), await createAccountWithCredit(pool, 2)];
    const charge = (accountId: number, micros: number, key: string | null = null) => ({ accountId, micros, key });
    const charges = [
      charge(one, 3, 'a'),
      charge(two, 3),
      charge(one, 3),
      charge(one, 3, 'a'),
      charge(one, 2, 'b'),
      charge(one, 1, 'c'),
      charge(two, 2),
    ];
    expect(await transaction(pool, (tx) => fitIntoCredit(tx, charges))).toEqual([
      null,
      { priceMicros: 3, availableMicros: 2, currency: 'EUR' },
      { priceMicros: 3, availableMicros: 2, currency: 'EUR' },
      null,
      null,
      { priceMicros: 1, availableMicros: 0, currency: 'EUR' },
      null,
    ]);
  });

  test('covers as many of fifty concurrent freezes as the credit allows, without a deadlock', async () => {
    const accountId = await createAccountWithCredit(pool, 333);
    const frozen = await Promise.all(Array.from({ length: 50 }, () => freezeAll([{ accountId, micros: 10 }])));
    expect(frozen.filter(Boolean)).toHaveLength(33);
    expect(await readBooks(pool, accountId)).toMatchObject({ available: 3, frozen: 330 });
  });
});

describe('transactions that charge the same accounts in different orders', () => {
  /**
   * Creates accounts with credit, and charges of them in descending order of their ids. Their balances have that order
   * in the table, too.
   */
  async function createChargedAccounts(): Promise<{ charges: Charge[]; lowest: number; others: number[] }> {
    const ids: number[] = [];
    while (ids.length < 4) ids.unshift(await createAccountWithCredit(pool, 1000));
    for (const id of ids) {
      await pool.query('UPDATE credit_balance SET available_micros = available_micros WHERE account_id = $1', [id]);
      await freezeAll([{ accountId: id, micros: 100 }]);
    }
    const lowest = ids.at(-1) ?? 0;
    return { charges: ids.map((accountId) => ({ accountId, micros: 10 })), lowest, others: ids.slice(0, -1) };
  }

  /** Charges in a transaction that finds balances in the order of the table, because it may use no index. */
  const chargeWithoutIndex = (work: (tx: Db) => Promise<unknown>): Promise<void> =>
    transaction(pool, async (tx) => {
      await tx.query('SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off');
      await work(tx);
    });

  test.each<[what: string, table: string, charge: (tx: Db, charges: readonly Charge[]) => Promise<unknown>]>([
    ['freezing locks the balances', 'credit_balance', (tx, charges) => freeze(tx, charges, 'test')],
    [
      'returning locks the balances',
      'credit_balance',
      (tx, returned) => settleFrozen(tx, { earned: [], returned, reference: 'test' }),
    ],
    ['changing the available credit locks the balances', 'credit_balance', updateAvailable],
    [
      'fitting into the credit locks the balances',
      'credit_balance',
      (tx, charges) =>
        fitIntoCredit(
          tx,
          charges.map((each) => ({ ...each, key: null })),
        ),
    ],
    [
      'changing the frozen credit locks its rows',
      'credit_frozen',
      (tx, changes) => updateFrozen(tx, { changes, shard: 0 }),
    ],
  ])('%s in the order of the account ids, and cannot deadlock', async (_, table, charge) => {
    const { charges, lowest, others } = await createChargedAccounts();
    const holder = await pool.connect();
    onTestFinished(() => holder.release(true));
    await holder.query('BEGIN');
    await holder.query(`SELECT FROM ${table} WHERE account_id = $1 FOR UPDATE`, [lowest]);
    const charging = chargeWithoutIndex((tx) => charge(tx, charges));
    await until('the charge waits', async () => (await countLockWaits(pool)) === 1);
    // Had the charge locked another account before, it would wait for this transaction, and this one for it.
    await holder.query(`SELECT FROM ${table} WHERE account_id = ANY($1) FOR UPDATE NOWAIT`, [others]);
    await holder.query('COMMIT');
    await charging;
  });
});

type Step =
  | { readonly kind: 'topUp'; readonly account: number; readonly micros: number }
  | { readonly kind: 'freeze'; readonly charges: readonly { readonly account: number; readonly micros: number }[] }
  | { readonly kind: 'end'; readonly count: number; readonly earned: boolean };

const ACCOUNTS = 3;
const account = fc.nat({ max: ACCOUNTS - 1 });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('topUp' as const), account, micros: fc.integer({ min: 1, max: 500 }) }),
  fc.record({
    kind: fc.constant('freeze' as const),
    charges: fc.array(fc.record({ account, micros: fc.nat({ max: 200 }) }), { minLength: 1, maxLength: 6 }),
  }),
  fc.record({ kind: fc.constant('end' as const), count: fc.integer({ min: 1, max: 5 }), earned: fc.boolean() }),
);

/** The same in plain numbers. */
function createModel(): {
  books: Books[];
  frozen: { account: number; micros: number }[];
  move(from: keyof Books, to: keyof Books, at: number, micros: number): void;
} {
  const books = Array.from({ length: ACCOUNTS }, () => ({ outside: 0, available: 0, frozen: 0, earned: 0 }));
  return {
    books,
    frozen: [],
    move(from, to, at, micros) {
      const own = books[at];
      if (!own) throw new Error(`no account ${at}`);
      own[from] -= micros;
      own[to] += micros;
    },
  };
}

/** Takes the step in both, and checks that they agree on whether it may be taken. */
async function take(step: Step, ids: readonly number[], model: ReturnType<typeof createModel>): Promise<void> {
  const chargesOf = (list: readonly { account: number; micros: number }[]): Charge[] =>
    list.map(({ account: at, micros }) => ({ accountId: ids[at] ?? 0, micros }));
  if (step.kind === 'topUp') {
    model.move('outside', 'available', step.account, step.micros);
    return topUp(pool, { accountId: ids[step.account] ?? 0, micros: step.micros, reference: '' });
  }
  if (step.kind === 'freeze') {
    const wanted = ids.map((_, at) => step.charges.reduce((sum, c) => sum + (c.account === at ? c.micros : 0), 0));
    const enough = wanted.every((micros, at) => micros === 0 || micros <= (model.books[at]?.available ?? 0));
    expect(await freezeAll(chargesOf(step.charges))).toBe(enough);
    if (!enough) return;
    for (const charge of step.charges) model.move('available', 'frozen', charge.account, charge.micros);
    return void model.frozen.push(...step.charges);
  }
  const ending = model.frozen.splice(0, step.count);
  for (const { account: at, micros } of ending) model.move('frozen', step.earned ? 'earned' : 'available', at, micros);
  return step.earned ? settle(chargesOf(ending), []) : settle([], chargesOf(ending));
}

propertyTest.prop([fc.array(anyStep, { maxLength: 25 })], { numRuns: runs(6) })(
  'whatever is topped up, frozen, settled and returned, in any order: the ledger holds what plain arithmetic says',
  async (steps) => {
    const ids = await Promise.all(Array.from({ length: ACCOUNTS }, () => createAccountWithCredit(pool, 0)));
    const model = createModel();
    for (const each of steps) await take(each, ids, model);
    expect(await Promise.all(ids.map((id) => readBooks(pool, id)))).toEqual(model.books);
  },
);
