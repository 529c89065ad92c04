import type { Pool } from 'pg';
import { parseAccountName } from '../../identity/accounts/rename.ts';
import { countAccounts, listAccounts, lockFirstAccount } from '../../identity/accounts/sql.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { toMicros } from '../../platform/lib/money.ts';
import { createAccountTx, type NewAccount, newAdminPassword } from '../accounts/create.ts';
import { type Answers, amount } from './answers.ts';
import type { Done } from './step.ts';

/**
 * Creates the first account, whose admin is an operator of the gateway, unless there is any account. The credentials are in
 * `created`, and nowhere else.
 */
export async function setUpAccount(pool: Pool, answers: Answers): Promise<{ done: Done; created: NewAccount | null }> {
  const step = 'account';
  const [first] = await listAccounts(pool);
  if (first) return { done: { step, changed: false, detail: `kept: ${first.name}` }, created: null };
  const name = await answers.text({
    flag: 'account',
    text: 'Name of the first account',
    fallback: 'Main',
    rule: accountName,
  });
  const credit = await answers.text({
    flag: 'credit',
    text: 'Its credit, in currency units',
    fallback: '100',
    rule: amount,
  });
  const creditMicros = toMicros(Number(credit));
  if (creditMicros === null) throw new Error('amount accepts at most 6 decimals');
  const input = { name, plan: 'production', creditMicros, operator: true } as const;
  const secret = await newAdminPassword();
  // Of two runs at the same time one creates it.
  const created = await transaction(pool, async (tx) => {
    await lockFirstAccount(tx);
    return (await countAccounts(tx)) > 0 ? null : createAccountTx(tx, input, secret);
  });
  if (created === null) return { done: { step, changed: false, detail: 'made by another run' }, created };
  return { done: { step, changed: true, detail: `${name}, with an admin who is an operator of the gateway` }, created };
}

function accountName(answer: string): void {
  try {
    parseAccountName(answer);
  } catch (error) {
    // It names the field of a request, which is nothing to a person at a terminal.
    throw new Error(error instanceof Error ? error.message.replace(/^name: /, '') : String(error));
  }
}
