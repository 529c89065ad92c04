import type { Db } from '../../platform/db/query.ts';
import { type ChangedConversation, insertCounts, type CountKey } from './sql.ts';
import { insertInboxEvents, updateLastEvents, type NewInboxEvent } from './stream/sql.ts';

/**
 * Publishes changes of inboxes: updates the counts of changed conversations, stores the events, and notifies every
 * process when the transaction commits. Call it once, in a transaction that has locked these inboxes (`claimInboxes`).
 */
export async function publishInboxChanges(
  tx: Db,
  { changed, events }: { readonly changed: readonly ChangedConversation[]; readonly events: readonly NewInboxEvent[] },
): Promise<void> {
  const counts = countDeltas(changed);
  if (counts.length > 0) await insertCounts(tx, counts);
  if (events.length > 0) await storeEvents(tx, events);
}

async function storeEvents(tx: Db, events: readonly NewInboxEvent[]): Promise<void> {
  const byAccount = Map.groupBy(events, (event) => event.accountId);
  const counts = [...byAccount].map(([accountId, { length: count }]) => ({ accountId, count }));
  const before = new Map((await updateLastEvents(tx, counts)).map((row) => [row.accountId, row.before]));
  const rows = [...byAccount].flatMap(([accountId, list]) =>
    list.map((event, n) => ({ ...event, id: (before.get(accountId) ?? 0) + n + 1 })),
  );
  await insertInboxEvents(tx, rows);
}

/** Returns the amounts to add to the counts: each key once, and none with zero. */
function countDeltas(changed: readonly ChangedConversation[]): (CountKey & { by: number })[] {
  const sums = new Map<string, CountKey & { by: number }>();
  const add = (kind: CountKey, by: number): void => {
    const key = JSON.stringify([kind.accountId, kind.archived, kind.channel, kind.unread]);
    const sum = sums.get(key) ?? { ...kind, by: 0 };
    sums.set(key, { ...sum, by: sum.by + by });
  };
  for (const { accountId, channel, archived, unread, wasArchived, wasUnread } of changed) {
    add({ accountId, channel, archived, unread: unread > 0 }, 1);
    if (wasArchived !== null && wasUnread !== null)
      add({ accountId, channel, archived: wasArchived, unread: wasUnread > 0 }, -1);
  }
  return [...sums.values()].filter((sum) => sum.by !== 0);
}
