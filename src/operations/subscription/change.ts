import { type Author, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import { type Channel, toBits, toChannels } from '../../platform/lib/channel.ts';
import { updateChannels } from './sql.ts';

/**
 * Which channels the plan of the author's account has: holds from the next request on, on every process. Campaigns that
 * are confirmed go on. Call it in a transaction.
 */
export async function changeChannels(
  tx: Db,
  author: Author,
  { channels }: { readonly channels: readonly Channel[] },
): Promise<void> {
  const { accountId } = author;
  const bits = toBits(new Set(channels));
  await updateChannels(tx, { accountId, bits });
  const detail = { channels: toChannels(bits) };
  await recordAudit(tx, author, { action: 'account.channels', subject: `account:${accountId}`, detail });
}
