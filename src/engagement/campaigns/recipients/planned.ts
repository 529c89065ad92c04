import { findBook } from '../../contacts/book/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { DEFAULT_NUMBER_RULES } from '../../../platform/lib/phone/number-rules.ts';
import { loadPlan } from '../load-plan.ts';
import { listUnreadable } from '../numbers.ts';
import type { CampaignRow } from '../sql.ts';
import { listPlanned, type PlannedWhich, type RecipientRow } from './sql.ts';

type Input = {
  readonly accountId: number;
  readonly campaign: CampaignRow;
  readonly which: PlannedWhich;
  readonly limit: number;
  readonly offset: number;
};

/**
 * Finds a page of those whom an unconfirmed campaign would reach or skip, and their total: as its goal counted them,
 * and none while that is stale. Numbers come first, then contacts without a number and texts that are not a number at
 * all.
 */
export async function findPlanned(db: Db, input: Input): Promise<{ rows: RecipientRow[]; total: number }> {
  const { accountId, campaign, which, limit, offset } = input;
  const { goal, goalFresh } = campaign;
  if (!goal || !goalFresh) return { rows: [], total: 0 };
  const total =
    which === 'pending' ? goal.total : which === 'skipped' ? goal.skippedTotal : goal.total + goal.skippedTotal;
  const numbers = total - (which === 'pending' ? 0 : goal.unlisted);
  const plan = await loadPlan(db, { accountId, campaign });
  // The first pages of all are found without a pass over the whole audience.
  const isEarly = which === 'all' && offset + limit <= numbers;
  const range = isEarly ? { after: null, limit: offset + limit } : null;
  const rows = await listPlanned(db, { plan, range, which, limit, offset });
  if (which === 'pending' || campaign.destinationType !== 2 || offset + limit <= numbers) return { rows, total };
  const book = await findBook(db, { accountId });
  const unreadable = await listUnreadable(campaign.destinations, book ?? DEFAULT_NUMBER_RULES);
  const from = Math.max(0, offset - numbers);
  return { rows: [...rows, ...unreadable.slice(from, from + limit - rows.length).map(toUnreadable)], total };
}

const toUnreadable = (phoneNumber: string): RecipientRow => ({
  phoneNumber,
  country: '',
  contactId: null,
  name: null,
  skipReason: 'invalid',
  attempts: [],
});
