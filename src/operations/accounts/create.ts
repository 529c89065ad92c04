import type { Pool } from 'pg';
import { insertBook } from '../../engagement/contacts/book/sql.ts';
import { createSamples } from '../../engagement/contacts/sample.ts';
import { parseAccountName } from '../../identity/accounts/rename.ts';
import { lockFirstAccount, countAccounts, insertAccount, updateAccountRate } from '../../identity/accounts/sql.ts';
import { createKey } from '../../identity/api-keys/create.ts';
import { operatorAuthor, recordAudit } from '../../identity/audit/record.ts';
import { changeOperator } from '../../identity/users/change.ts';
import { createUserWithRandomPassword } from '../../identity/users/create.ts';
import { generatePassword, type Hashed, hashed } from '../../identity/users/password.ts';
import { topUp } from '../../money/credit/charge.ts';
import { insertBalance } from '../../money/credit/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';
import type { Plan } from '../../platform/lib/plan.ts';
import { scopesOfRole } from '../../platform/lib/scope.ts';

/** A new account with its first credentials, which are shown only once. */
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
  /** The credit that the account has from the start. An account on the plan `unlimited` pays after use. */
  readonly creditMicros?: number;
  /** Requests per minute for each key; 0 for no limit; by default that of the plan. */
  readonly ratePerMinute?: number;
  /** Makes the first user of the account an operator of the gateway. */
  readonly operator?: boolean;
  /** Name of the operator who creates the account; default: the system user. */
  readonly by?: string;
};

const DEMO_CREDIT_MICROS = 10_000_000_000;

/**
 * Creates an account with an admin and an API key with all scopes, in one transaction. Errors: 400 when the name is empty
 * or longer than 200 characters.
 */
export async function createAccount(pool: Pool, input: AccountInput): Promise<NewAccount> {
  const secret = await newAdminPassword();
  return transaction(pool, (tx) => createAccountTx(tx, input, secret));
}

/** Generates the password of an account's first admin and hashes it. Call it before the transaction of the account. */
export const newAdminPassword = (): Promise<Hashed> => hashed(generatePassword(), { by: 'operator' });

/**
 * Creates the account of a first start, or returns undefined when there is any account. Two programs that start at the
 * same time on one empty database create only one.
 */
export async function createDemoAccount(pool: Pool): Promise<NewAccount | undefined> {
  if ((await countAccounts(pool)) > 0) return undefined;
  const secret = await newAdminPassword();
  return transaction(pool, async (tx) => {
    await lockFirstAccount(tx);
    if ((await countAccounts(tx)) > 0) return undefined;
    const plan = { plan: 'production', creditMicros: DEMO_CREDIT_MICROS, ratePerMinute: 0 } as const;
    const demo = await createAccountTx(tx, { name: 'Demo', ...plan, operator: true }, secret);
    await createSamples(tx, operatorAuthor(demo.accountId));
    return demo;
  });
}

/** Does the same as `createAccount`, in the caller's transaction, with a password of `newAdminPassword`. */
export async function createAccountTx(tx: Db, input: AccountInput, secret: Hashed): Promise<NewAccount> {
  const name = parseAccountName(input.name);
  const { id: accountId } = await insertAccount(tx, { name, plan: input.plan });
  const { ratePerMinute } = input;
  if (ratePerMinute !== undefined)
    await updateAccountRate(tx, { accountId, perMinute: ratePerMinute, perSecond: null });
  await insertBalance(tx, { accountId, unlimited: input.plan === 'unlimited' });
  await insertBook(tx, { accountId });
  if (input.creditMicros) await topUp(tx, { accountId, micros: input.creditMicros, reference: 'first credit' });
  const admin = { name, role: 'admin', ...secret } as const;
  const { userId, username, password } = await createUserWithRandomPassword(tx, { accountId }, admin);
  const operator = operatorAuthor(accountId, input.by);
  if (input.operator) await changeOperator(tx, operator, { id: userId, isOperator: true });
  const detail = { name, plan: input.plan, creditMicros: input.creditMicros ?? 0 };
  await recordAudit(tx, operator, { action: 'account.create', subject: `account:${accountId}`, detail });
  const author = { ...operator, userId, operations: scopesOfRole('admin') };
  const { apiKey } = await createKey(tx, author, { name: 'first key' });
  return { accountId, name, apiKey, username, password };
}
