import type { Pool } from 'pg';
import { operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { createKey } from '../../identity/api-keys/create.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import { scopesOfRole } from '../../platform/lib/scope.ts';
import { topUp } from '../../money/credit/charge.ts';
import { insertBook } from '../../engagement/contacts/book/sql.ts';
import { createSamples } from '../../engagement/contacts/sample.ts';
import { insertBalance } from '../../money/credit/sql.ts';
import { changeOperator } from '../../identity/users/change.ts';
import { createUserWithRandomPassword } from '../../identity/users/create.ts';
import { parseAccountName } from '../../identity/accounts/rename.ts';
import { lockFirstAccount, countAccounts, insertAccount, updateAccountRate } from '../../identity/accounts/sql.ts';

/** A new account with its first credentials, shown this once. */
export type NewAccount = {
  readonly accountId: number;
  readonly name: string;
  readonly apiKey: string;
  readonly username: string;
  readonly password: string;
};

type AccountInput = {
  readonly name: string;
  readonly plan: Plan;
  /** What it may spend at once; an `unlimited` plan pays afterwards. */
  readonly creditMicros?: number;
  /** Requests a minute of each key; the plan's if absent, 0 for no limit. */
  readonly ratePerMinute?: number;
  /** Its owner is an operator of the gateway. */
  readonly operator?: boolean;
  /** Who makes it; the user of this machine unless said otherwise. */
  readonly by?: string;
};

const DEMO_CREDIT_MICROS = 10_000_000_000;

/**
 * Makes an account with its owner and an API key with all scopes, in one transaction.
 * Errors: 400 when the name is empty or longer than 200 characters.
 */
export const createAccount = (pool: Pool, input: AccountInput): Promise<NewAccount> =>
  transaction(pool, (tx) => createAccountTx(tx, input));

/**
 * The account of a first start, or undefined when there is any account already. Two programs that start at the same
 * time on one empty database make one.
 */
export const createDemoAccount = (pool: Pool): Promise<NewAccount | undefined> =>
  transaction(pool, async (tx) => {
    await lockFirstAccount(tx);
    if ((await countAccounts(tx)) > 0) return undefined;
    const plan = { plan: 'production', creditMicros: DEMO_CREDIT_MICROS, ratePerMinute: 0 } as const;
    const demo = await createAccountTx(tx, { name: 'Demo', ...plan, operator: true });
    await createSamples(tx, operatorAuthor(demo.accountId));
    return demo;
  });

/** `createAccount` in the caller's transaction. */
export async function createAccountTx(tx: Db, input: AccountInput): Promise<NewAccount> {
  const name = parseAccountName(input.name);
  const { id: accountId } = await insertAccount(tx, { name, plan: input.plan });
  const { ratePerMinute } = input;
  if (ratePerMinute !== undefined)
    await updateAccountRate(tx, { accountId, perMinute: ratePerMinute, perSecond: null });
  await insertBalance(tx, { accountId, unlimited: input.plan === 'unlimited' });
  await insertBook(tx, { accountId });
  if (input.creditMicros) await topUp(tx, { accountId, micros: input.creditMicros, reference: 'first credit' });
  const { userId, username, password } = await createUserWithRandomPassword(tx, { accountId }, { name, role: 'owner' });
  const operator = operatorAuthor(accountId, input.by);
  if (input.operator) await changeOperator(tx, operator, { id: userId, isOperator: true });
  const detail = { name, plan: input.plan, creditMicros: input.creditMicros ?? 0 };
  await recordAudit(tx, operator, { action: 'account.create', subject: `account:${accountId}`, detail });
  const owner = { ...operator, userId, operations: scopesOfRole('owner') };
  const { apiKey } = await createKey(tx, owner, { name: 'first key' });
  return { accountId, name, apiKey, username, password };
}
