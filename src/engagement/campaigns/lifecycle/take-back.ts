import { recordAudit, type Author } from '../../../identity/audit/record.ts';
import { setStatementTimeoutMinutes } from '../../../platform/db/transaction.ts';
import type { Db } from '../../../platform/db/query.ts';
import type { CampaignRow } from '../sql.ts';
import { deleteRecipients, deleteRun } from '../worker/end/sql.ts';
import { moveToUnconfirmed } from './sql.ts';

/** A million recipients are deleted in seconds. */
const MAX_MINUTES = 10;
const EVERYBODY = 1_000_000_000;

/**
 * Revokes the confirmation of a scheduled campaign that has not started: it can be edited again, and its recipients are
 * deleted. The caller has locked the campaign, and returns its `reservedMicros` to the account as the last step of the
 * transaction. Returns false, with nothing changed, when it is not waiting for its time.
 */
export async function takeBackConfirmation(
  tx: Db,
  actor: Author,
  { id, reservedMicros }: CampaignRow,
): Promise<boolean> {
  const { accountId } = actor;
  if ((await moveToUnconfirmed(tx, { accountId, id })) === 0) return false;
  await setStatementTimeoutMinutes(tx, MAX_MINUTES);
  const job = { accountId, campaignId: id };
  await deleteRecipients(tx, job, { limit: EVERYBODY });
  await deleteRun(tx, job);
  await recordAudit(tx, actor, { action: 'campaign.take-back', subject: `campaign:${id}`, detail: { reservedMicros } });
  return true;
}
