import type { Db } from '../../../platform/db/query.ts';
import { boundsOf } from '../../../platform/lib/ids.ts';
import { type DueRetry, type EventKey, listLogged, listWaitingMessages } from '../delivery-log/sql.ts';
import { eventIdOf } from './event-id.ts';
import { listReceivedFacts, listSentFacts } from './facts/sql.ts';
import type { QueuedEvent, SettledEvent } from './account-queue.ts';
import type { OutboxRow } from '../outbox/sql.ts';
import type { Facts } from './payload.ts';

type LoadedEvent = Omit<QueuedEvent, 'facts'>;

/** Lists the events of an outbox row, in their order. */
const eventsOf = ({ id, accountId, seed, kind, status, messageIds, at, errors }: OutboxRow): LoadedEvent[] =>
  messageIds.map((messageId, place) => ({
    accountId,
    id: eventIdOf(seed, place),
    seq: id,
    outboxId: id,
    attempts: 0,
    kind,
    messageId,
    status,
    at: at[place] ?? new Date(0),
    error: errors[place] ?? null,
  }));

export type Loaded = {
  /** Events to send. */
  readonly events: QueuedEvent[];
  /** Events to store for later: an earlier event of their message waits for another attempt. */
  readonly behind: SettledEvent[];
  /** Events that an earlier worker has logged already. */
  readonly done: LoadedEvent[];
};

/**
 * Loads the events of outbox rows of any accounts, and separates those to send, to defer and to skip.
 *
 * @param retrying accounts whose events may wait for another attempt
 */
export async function loadRows(db: Db, rows: readonly OutboxRow[], retrying: ReadonlySet<number>): Promise<Loaded> {
  const all = rows.flatMap(eventsOf);
  if (all.length === 0) return { events: [], behind: [], done: [] };
  const [firstId, lastId] = boundsOf(all.map((event) => event.id));
  const messages = all.flatMap(({ accountId, messageId }): EventKey[] =>
    retrying.has(accountId) ? [{ accountId, id: messageId }] : [],
  );
  const [facts, logged, waiting] = await Promise.all([
    factsOf(db, all),
    listLogged(db, { keys: all, firstId, lastId }),
    messages.length > 0 ? listWaitingMessages(db, { messages }) : new Set<string>(),
  ]);
  const fresh = all
    .filter((event) => !logged.has(event.id))
    .map((event) => ({ ...event, facts: facts.get(event.messageId) ?? null }));
  return {
    events: fresh.filter((event) => !waiting.has(event.messageId)),
    behind: fresh
      .filter((event) => waiting.has(event.messageId))
      .map((event) => ({ event, result: { kind: 'behind' }, target: null })),
    done: all.filter((event) => logged.has(event.id)),
  };
}

/** Loads events whose next attempt is due, with the facts for their bodies. */
export async function loadRetries(db: Db, retries: readonly DueRetry[]): Promise<QueuedEvent[]> {
  if (retries.length === 0) return [];
  const facts = await factsOf(db, retries);
  return retries.map((retry) => ({ ...retry, outboxId: null, facts: facts.get(retry.messageId) ?? null }));
}

type Subject = Pick<QueuedEvent, 'accountId' | 'messageId' | 'kind'>;

/** Loads the facts for the bodies of these events, by message id; a deleted message has no entry. */
export async function factsOf(db: Db, events: readonly Subject[]): Promise<Map<string, Facts>> {
  const received = events.filter(({ kind }) => kind === 'INBOUND');
  const sent = events.filter(({ kind }) => kind !== 'INBOUND');
  const facts = new Map<string, Facts>();
  if (sent.length > 0) {
    const [firstId, lastId] = boundsOf(sent.map((event) => event.messageId));
    for (const row of await listSentFacts(db, { keys: sent, firstId, lastId }))
      facts.set(row.messageId, { kind: 'sent', ...row });
  }
  if (received.length > 0)
    for (const row of await listReceivedFacts(db, { keys: received }))
      facts.set(row.messageId, { kind: 'received', ...row });
  return facts;
}
