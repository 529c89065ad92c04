import { findBook } from '../../contacts/book/sql.ts';
import type { Db } from '../../../platform/db/query.ts';
import { DEFAULT_NUMBER_RULES } from '../../../platform/lib/phone/number-rules.ts';
import type { AudienceSize } from '../audience/goal.ts';
import type { Plan } from '../audience/sql.ts';
import { loadPlan } from '../load-plan.ts';
import { readNumbers } from '../numbers.ts';
import { listListVersions, type Settings } from '../sql.ts';

/** An id that no campaign has. */
const UNSAVED = 0;

/** A plan of unsaved settings, the number of its candidates, and the size of its lists or numbers. */
export type UnsavedPlan = { readonly plan: Plan; readonly total: number; readonly size: AudienceSize };

/**
 * Plans the recipients of unsaved settings: these contacts, or else the lists, or else the numbers. `total`: all
 * contacts of the lists together, or the distinct valid numbers.
 */
export async function planUnsaved(
  db: Db,
  accountId: number,
  settings: Settings,
  contactIds?: readonly number[],
): Promise<UnsavedPlan> {
  const campaign = { ...settings, id: UNSAVED, destinationType: 1 as const };
  const plan = await loadPlan(db, { accountId, campaign });
  if (contactIds) return { plan: { ...plan, named: { contactIds } }, ...sized(contactIds.length) };
  if (settings.contactListIds.length > 0) {
    const lists = await listListVersions(db, { accountId, ids: settings.contactListIds });
    return { plan, ...sized(lists.reduce((sum, { contactCount }) => sum + contactCount, 0)) };
  }
  const book = await findBook(db, { accountId });
  const numbers = await readNumbers(settings.destinations, book ?? DEFAULT_NUMBER_RULES);
  const size = { named: settings.destinations.length, unreadable: numbers.unreadable };
  return { plan: { ...plan, named: { numbers } }, total: numbers.numbers.length, size };
}

const sized = (total: number): Omit<UnsavedPlan, 'plan'> => ({ total, size: { named: total, unreadable: 0 } });
