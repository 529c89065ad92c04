import type { Pool } from 'pg';
import { dropDay, listEndedDays } from '../../platform/db/partitions.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { claimInboxes } from '../../engagement/inbox/sql.ts';
import { firstIdAt } from '../../platform/lib/ids.ts';
import type { Log } from '../../platform/lib/log.ts';
import * as db from './sql.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../../platform/lib/time.ts';

const BATCH = 5000;

type Deps = { readonly pool: Pool; readonly log: Log; readonly now: () => Date };

/**
 * Deletes what is older than `days`: messages, their states, parts and events and the log of webhooks with the
 * partitions of their day, and in batches what belongs to them elsewhere, what people wrote, and the recipients of
 * campaigns. Kept are the audit log, the ledger, the figures, contacts, consent and what people edit.
 *
 * A day stays as long as one of its messages waits for its time, or may still hold credit.
 *
 * @returns how long until the next look, in ms; 0 when there is more to do
 */
export async function deleteOldData(deps: Deps, { days }: { days: number }): Promise<number> {
  const before = new Date(deps.now().getTime() - days * DAY_MS);
  const dropped = await dropOldDays(deps, before);
  const removed = await removeBatch(deps.pool, before);
  if (removed > 0) return 0;
  return dropped ? HOUR_MS : 10 * SECOND_MS;
}

/** False when one is being read and has to be tried again. */
async function dropOldDays({ pool, log }: Deps, before: Date): Promise<boolean> {
  const lookedThrough = await db.findLookedThrough(pool);
  const ended = await listEndedDays(pool, lookedThrough < before ? lookedThrough : before);
  for (const day of ended) {
    const ids = { firstId: firstIdAt(day), endId: firstIdAt(new Date(day.getTime() + DAY_MS)) };
    if (await db.hasWaitingMessage(pool, ids)) continue;
    if (!(await dropDay(pool, day))) return false;
    log.info({ partition: day.toISOString().slice(0, 10) }, 'a day of messages is past its retention and gone');
  }
  return true;
}

/** A batch of each kind; how many rows they were. */
async function removeBatch(pool: Pool, before: Date): Promise<number> {
  const old = { before, limit: BATCH };
  const beforeId = firstIdAt(before);
  const counts = [
    await db.deleteClientIds(pool, old),
    await db.deleteInboundMessages(pool, old),
    await db.deleteInboxMessages(pool, old),
    await removeConversations(pool, old),
    await removeRecipients(pool, old),
    await db.deleteRetries(pool, { beforeId }),
    await db.deleteOutbox(pool, { beforeId }),
  ];
  return counts.reduce((sum, count) => sum + count, 0);
}

type Batch = { readonly before: Date; readonly limit: number };

/** What somebody writes meanwhile waits for the inbox and then begins a new conversation. */
async function removeConversations(pool: Pool, batch: Batch): Promise<number> {
  const silent = await db.findInactiveInbox(pool, batch);
  if (!silent) return 0;
  return transaction(pool, async (tx) => {
    await claimInboxes(tx, { accountIds: [silent.accountId] });
    return db.deleteConversations(tx, { ...silent, ...batch });
  });
}

async function removeRecipients(pool: Pool, { before, limit }: Batch): Promise<number> {
  const campaign = await db.findOldCampaign(pool, { before });
  if (!campaign) return 0;
  return (await db.deleteRecipients(pool, { ...campaign, limit })) || db.deleteCampaignSteps(pool, campaign);
}
