import type { Pool } from 'pg';
import { listAccounts } from '../../identity/accounts/sql.ts';
import { invalidFields } from '../../platform/errors.ts';
import { toMicros } from '../../platform/lib/money.ts';
import { createAccount, type NewAccount } from '../accounts/create.ts';
import { type Answers, numberOf } from './answers.ts';
import type { Done } from './step.ts';

/**
 * Creates the first account, whose admin is an operator of the gateway, unless there is any account. The credentials are in
 * `created`, and nowhere else.
 */
export async function setUpAccount(pool: Pool, answers: Answers): Promise<{ done: Done; created: NewAccount | null }> {
  const step = 'account';
  const [first] = await listAccounts(pool);
  if (first) return { done: { step, changed: false, detail: `kept: ${first.name}` }, created: null };
  const name = await answers.text({ flag: 'account', text: 'Name of the first account', fallback: 'Main' });
  const credit = await answers.text({ flag: 'credit', text: 'Its credit, in currency units', fallback: '100' });
  const creditMicros = toMicros(numberOf('--credit', credit));
  if (creditMicros === null) throw invalidFields([{ field: '--credit', message: 'must have at most 6 decimals' }]);
  const created = await createAccount(pool, { name, plan: 'production', creditMicros, operator: true });
  return { done: { step, changed: true, detail: `${name}, with an admin who is an operator of the gateway` }, created };
}
