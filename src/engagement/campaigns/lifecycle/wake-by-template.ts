import type { TemplateKey } from '../../../network/templates/network.ts';
import type { Db } from '../../../platform/db/query.ts';
import { listJobsOfTemplates, wakeJobs } from './sql.ts';

/**
 * Makes every campaign that sends one of these templates due now, so that workers pause those that may no longer send
 * it (`worker/auto-pause.ts`). Called when templates change, in the same transaction.
 */
export async function wakeCampaignsUsing(tx: Db, templates: readonly TemplateKey[]): Promise<void> {
  if (templates.length === 0) return;
  const ids = (await listJobsOfTemplates(tx, { keys: templates })).map(({ id }) => id);
  if (ids.length > 0) await wakeJobs(tx, { ids });
}
