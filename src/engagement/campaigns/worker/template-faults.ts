import type { Db } from '../../../platform/db/query.ts';
import { countCampaignChunks } from '../../../network/dispatch/campaigns/sql.ts';
import { checkTemplates, type TemplateFault } from '../check.ts';
import { chainOf } from '../mode.ts';
import { hasPendingRecipients } from './end/sql.ts';
import type { Settings } from '../sql.ts';

type Confirmed = {
  readonly accountId: number;
  readonly id: number;
  readonly settings: Parameters<typeof checkTemplates>[1]['settings'] & Pick<Settings, 'sendingMode'>;
};

/**
 * Lists the faults of the templates of a confirmed campaign, as far as they are still to be sent. The template of the
 * first channel does not count once all its messages have been submitted to carriers, so that the campaign can
 * complete.
 */
export async function listTemplateFaults(db: Db, { accountId, id, settings }: Confirmed): Promise<TemplateFault[]> {
  const faults = await checkTemplates(db, { accountId, settings });
  const [first] = chainOf(settings.sendingMode);
  if (faults.some(({ channel }) => channel !== first)) return faults;
  return faults.length > 0 && (await hasMessagesToSend(db, { accountId, campaignId: id })) ? faults : [];
}

async function hasMessagesToSend(db: Db, job: { accountId: number; campaignId: number }): Promise<boolean> {
  if (await hasPendingRecipients(db, job)) return true;
  const { waiting, owned } = await countCampaignChunks(db, job);
  return waiting + owned > 0;
}
