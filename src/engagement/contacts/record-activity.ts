import type { Db } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { bitOf } from '../../platform/lib/channel.ts';
import { type ChannelUpdate, type LastContact, insertLastContacts, updateChannels } from './sql.ts';

/**
 * Notes when and how contacts were last written to, in the caller's transaction; of several notes of one contact the
 * latest counts. One statement for all; it touches neither the contacts nor their indexes.
 */
export async function recordLastContacts(tx: Db, rows: readonly LastContact[]): Promise<void> {
  if (rows.length === 0) return;
  // No two accounts have a contact of the same id.
  const latest = new Map<number, LastContact>();
  for (const row of rows) {
    const known = latest.get(row.contactId);
    if (!known || known.at <= row.at) latest.set(row.contactId, row);
  }
  const sorted = [...latest.values()].sort((a, b) => a.accountId - b.accountId || a.contactId - b.contactId);
  await insertLastContacts(tx, sorted);
}

/** What a carrier has shown of a number: that a channel reaches it, or does not. */
export type ReachabilityReport = {
  readonly accountId: number;
  /** E.164 with the plus. */
  readonly phoneNumber: string;
  readonly channel: Channel;
  readonly reachable: boolean;
};

/**
 * Corrects what contacts can be reached on by what carriers report (UNSUPPORTED, DISABLED, not on WhatsApp; or delivered
 * after all), in the caller's transaction. Of several reports of one number and channel the last counts. Numbers that
 * are no contact cost an index look-up.
 */
export async function recordReachability(tx: Db, reports: readonly ReachabilityReport[]): Promise<void> {
  const moves = new Map<string, ChannelUpdate>();
  for (const { accountId, phoneNumber, channel, reachable } of reports) {
    const key = `${accountId}/${phoneNumber}`;
    const { on, off } = moves.get(key) ?? { on: 0, off: 0 };
    const bit = bitOf(channel);
    const [to, from] = [(reachable ? on : off) | bit, (reachable ? off : on) & ~bit];
    moves.set(key, { accountId, phoneNumber, on: reachable ? to : from, off: reachable ? from : to });
  }
  const sorted = [...moves].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, move]) => move);
  if (sorted.length > 0) await updateChannels(tx, sorted);
}
