import type { Db } from '../../platform/db/query.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { bitOf } from '../../platform/lib/channel.ts';
import { type ChannelUpdate, type LastContact, insertLastContacts, updateChannels } from './sql.ts';

/**
 * Records when and on which channel contacts were last sent a message, in the caller's transaction. If a contact occurs
 * several times, the latest time counts. It takes one statement, which changes neither the contacts nor their indexes.
 */
export async function recordLastContacts(tx: Db, rows: readonly LastContact[]): Promise<void> {
  if (rows.length === 0) return;
  // The ids of contacts are unique among all accounts.
  const latest = new Map<number, LastContact>();
  for (const row of rows) {
    const known = latest.get(row.contactId);
    if (!known || known.at <= row.at) latest.set(row.contactId, row);
  }
  const sorted = [...latest.values()].sort((a, b) => a.accountId - b.accountId || a.contactId - b.contactId);
  await insertLastContacts(tx, sorted);
}

/** A carrier's report that a channel reaches a number, or does not. */
export type ReachabilityReport = {
  readonly accountId: number;
  /** E.164 with the plus. */
  readonly phoneNumber: string;
  readonly channel: Channel;
  readonly reachable: boolean;
};

/**
 * Corrects the channels on which contacts can be reached, by reports of carriers (UNSUPPORTED, DISABLED, not on
 * WhatsApp; or delivered after all), in the caller's transaction. If a number and channel occur several times, the last
 * report counts. Numbers that are not a contact cost an index lookup.
 */
export async function recordReachability(tx: Db, reports: readonly ReachabilityReport[]): Promise<void> {
  const updates = new Map<string, ChannelUpdate>();
  for (const { accountId, phoneNumber, channel, reachable } of reports) {
    const key = `${accountId}/${phoneNumber}`;
    const { on, off } = updates.get(key) ?? { on: 0, off: 0 };
    const bit = bitOf(channel);
    const [to, from] = [(reachable ? on : off) | bit, (reachable ? off : on) & ~bit];
    updates.set(key, { accountId, phoneNumber, on: reachable ? to : from, off: reachable ? from : to });
  }
  const sorted = [...updates].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, update]) => update);
  if (sorted.length > 0) await updateChannels(tx, sorted);
}
