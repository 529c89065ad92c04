import type { Db } from '../../../platform/db/query.ts';
import { listJobsOfTemplates, moveJobsToNow } from './sql.ts';

export type ChangedTemplate = { readonly channel: 'RCS' | 'WHATSAPP'; readonly id: string };

/**
 * Has workers look at once at every campaign that sends one of these templates: they pause those that may not send it any
 * more (run/hold.ts). Call it in the transaction of the change.
 */
export async function lookAtTemplates(tx: Db, templates: readonly ChangedTemplate[]): Promise<void> {
  if (templates.length === 0) return;
  const ids = (await listJobsOfTemplates(tx, { keys: templates })).map(({ id }) => id);
  if (ids.length > 0) await moveJobsToNow(tx, { ids });
}
