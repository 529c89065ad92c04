import type { Pool } from 'pg';
import { claimInboxes } from '../../engagement/inbox/sql.ts';
import { findExpiryProgress } from '../../messaging/expiry/sql.ts';
import { dropDay, listEndedDays } from '../../platform/db/partitions.ts';
import { endStickyPools } from '../../network/sender-rules/sticky.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import type { Log } from '../../platform/lib/log.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../platform/lib/time.ts';
import * as db from './sql.ts';

const ROWS_PER_BATCH = 5000;

type Deps = { readonly pool: Pool; readonly log: Log; readonly now: () => Date };

/**
 * Deletes data older than `days`. Messages, their states, parts and events, and the log of webhooks go with the
 * partitions of their day. Their data in other tables, inbound messages, the recipients of campaigns, the pool numbers
 * kept for recipients, and resolved alerts are deleted in batches. The audit log, the ledger, the figures, contacts,
 * consent, and the content that users edit are kept.
 *
 * A day is kept as long as one of its messages is scheduled for later or may still hold credit.
 *
 * @returns the wait until the next run in ms; 0 when there is more to do
 */
export async function deleteOldData(deps: Deps, { days }: { days: number }): Promise<number> {
  const before = new Date(deps.now().getTime() - days * DAY_MS);
  const dropped = await dropOldDays(deps, before);
  const deleted = await deleteBatch(deps.pool, before);
  if (deleted > 0) return 0;
  return dropped ? HOUR_MS : 10 * SECOND_MS;
}

/** Returns false when a day is being read, so that dropping it has to be tried again. */
async function dropOldDays({ pool, log }: Deps, before: Date): Promise<boolean> {
  // Younger messages may still hold credit.
  const checkedTo = await findExpiryProgress(pool);
  const ended = await listEndedDays(pool, checkedTo < before ? checkedTo : before);
  for (const day of ended) {
    const ids = { firstId: firstIdAt(day), endId: firstIdAt(new Date(day.getTime() + DAY_MS)) };
    if (await db.hasWaitingMessage(pool, ids)) continue;
    if (!(await dropDay(pool, day))) return false;
    log.info(
      { partition: day.toISOString().slice(0, 10) },
      'a day of messages was deleted at the end of its retention',
    );
  }
  return true;
}

/** Deletes a batch of each kind. Returns the number of rows. */
async function deleteBatch(pool: Pool, before: Date): Promise<number> {
  const old = { before, limit: ROWS_PER_BATCH };
  const beforeId = firstIdAt(before);
  const counts = [
    await db.deleteClientIds(pool, old),
    await db.deleteInboundMessages(pool, old),
    await db.deleteInboxMessages(pool, old),
    await db.deleteInboxNotes(pool, old),
    await deleteConversations(pool, old),
    await deleteRecipients(pool, old),
    await deleteStickySenders(pool, old),
    await db.deleteRetries(pool, { beforeId }),
    await db.deleteOutbox(pool, { beforeId }),
    await db.deleteLostChunks(pool, { beforeId }),
    await db.deleteAlerts(pool, old),
  ];
  return counts.reduce((sum, count) => sum + count, 0);
}

type Batch = { readonly before: Date; readonly limit: number };

/** Deletes conversations of one account. A message that arrives in the meantime waits, and starts a new conversation. */
async function deleteConversations(pool: Pool, batch: Batch): Promise<number> {
  const inbox = await db.findInactiveInbox(pool, batch);
  if (!inbox) return 0;
  return transaction(pool, async (tx) => {
    await claimInboxes(tx, { accountIds: [inbox.accountId] });
    return db.deleteConversations(tx, { ...inbox, ...batch });
  });
}

async function deleteRecipients(pool: Pool, { before, limit }: Batch): Promise<number> {
  const campaign = await db.findOldCampaign(pool, { before });
  if (!campaign) return 0;
  return (await db.deleteRecipients(pool, { ...campaign, limit })) || db.deleteCampaignSteps(pool, campaign);
}

async function deleteStickySenders(pool: Pool, batch: Batch): Promise<number> {
  const deleted = await db.deleteStickySenders(pool, batch);
  if (deleted > 0) await endStickyPools(pool);
  return deleted;
}
