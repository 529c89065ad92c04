import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { transaction } from '../core/db/transaction.ts';
import { createAccount } from '../operate/account-commands.ts';
import { freeze, settleFrozen, topUp } from './credit.ts';

let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram({ roles: { worker: false } });
  const { pool } = program;
  const { accountId } = program.account;
  const charge = (micros: number) => [{ accountId, micros }];
  await topUp(pool, { accountId, micros: 10_000_000, reference: 'invoice 7' });
  await transaction(pool, (tx) => freeze(tx, charge(3_000_000), 'batch'));
  await transaction(pool, (tx) =>
    settleFrozen(tx, { earned: charge(2_000_000), returned: charge(1_000_000), reference: 'end' }),
  );
  await topUp(pool, { accountId, micros: 500_000, reference: 'invoice 8' });
});
afterAll(() => program[Symbol.asyncDispose]());

type Entry = { kind: string; amount: number; balance: number | null; reference: string };
async function entries(query = ''): Promise<{ data: Entry[]; total: number }> {
  const { body } = await program.client.request('GET', `/api/partner-gateway/v1/credit/entries?${query}`);
  return body as { data: Entry[]; total: number };
}

test('entries are listed with the available credit after each, also on later pages', async () => {
  const { data, total } = await entries('limit=50');
  expect(total).toBe(5);
  expect(data[0]).toMatchObject({ kind: 'topup', amount: 0.5, balance: 8.5, reference: 'invoice 8' });
  expect(data.at(-2)).toMatchObject({ kind: 'freeze', amount: 3, balance: 7 });
  expect(data.at(-1)).toMatchObject({ kind: 'topup', amount: 10, balance: 10, reference: 'invoice 7' });
  const pages = await Promise.all([0, 1, 2].map((page) => entries(`limit=2&page=${page}`)));
  expect(pages.flatMap((page) => page.data)).toEqual(data);
});

test('entries of one kind are listed without balances', async () => {
  const { data, total } = await entries('kind=topup');
  expect(total).toBe(2);
  expect(data.map(({ amount, balance }) => [amount, balance])).toEqual([
    [0.5, null],
    [10, null],
  ]);
});

test('another account sees only its own entries', async () => {
  const { apiKey } = await createAccount(program.pool, { name: 'Neighbour', plan: 'unlimited' });
  const { body } = await program.clientOf(apiKey).request('GET', '/api/partner-gateway/v1/credit/entries');
  expect(body).toMatchObject({ data: [], total: 0 });
});
