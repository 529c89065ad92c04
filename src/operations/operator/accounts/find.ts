import type { Static } from 'typebox';
import { findBook } from '../../../engagement/contacts/book/sql.ts';
import { limitsOf } from '../../../engagement/contacts/limits.ts';
import { findNumberRules } from '../../../identity/accounts/numbers/sql.ts';
import { findAllowList } from '../../../identity/accounts/security/sql.ts';
import { findEndpoint } from '../../../messaging/webhooks/sql.ts';
import { ledgerBalances } from '../../../money/credit/show.ts';
import type { Db } from '../../../platform/db/query.ts';
import { AppError } from '../../../platform/errors.ts';
import { DEFAULT_NUMBER_RULES } from '../../../platform/lib/phone/number-rules.ts';
import { type AccountDetails, toAccountOut, toPerson, toWebhook } from './schema.ts';
import { type AccountRow, countKeysAndEvents, listAccountPage, listPeople } from './sql.ts';

const ONE = { search: null, status: null, plan: null, sort: 'id', descending: false, limit: 1, offset: 0 } as const;

/** Finds an account. Errors: 404. */
export async function requireAccount(db: Db, { id }: { readonly id: number }): Promise<AccountRow> {
  const [account] = await listAccountPage(db, { ...ONE, id });
  if (!account) throw new AppError('not_found', { message: `There is no account ${id}` });
  return account;
}

/** Describes an account with everything that operators may see of it. Errors: 404. */
export async function describeAccount(
  db: Db,
  { id: accountId }: { readonly id: number },
): Promise<Static<typeof AccountDetails>> {
  const account = await requireAccount(db, { id: accountId });
  const [allowList, numberRules, book, endpoint] = [
    await findAllowList(db, { accountId }),
    await findNumberRules(db, { accountId }),
    await findBook(db, { accountId }),
    await findEndpoint(db, { accountId }),
  ];
  const { apiKeys, ...events } = await countKeysAndEvents(db, { accountId });
  const people = await listPeople(db, { accountId });
  return {
    ...toAccountOut(account),
    ipAllowList: allowList?.ipAllowList ?? [],
    allowListEnforced: allowList?.enforced ?? false,
    contactLimits: limitsOf(book ?? { planLimit: null, extraLimit: 0, contacts: 0 }),
    ...(numberRules ?? DEFAULT_NUMBER_RULES),
    apiKeys,
    people: people.map(toPerson),
    webhook: endpoint ? toWebhook(endpoint, events) : null,
    ledgerAgrees: await ledgerBalances(db, { accountId }),
  };
}
