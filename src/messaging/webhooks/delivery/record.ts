import type { Pool } from 'pg';
import type { Db } from '../../../platform/db/query.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { deleteRetries, insertLog, insertRetries, type LogEntry } from '../delivery-log/sql.ts';
import type { LaneEvent, Settled, Target } from './lane.ts';
import { deleteOutbox, listOwnAccounts } from '../outbox/sql.ts';
import { retryDelayMs } from './schedule.ts';
import { moveToDisabled, moveToFailing, moveToSucceeding } from './targets/sql.ts';

const GIVEN_UP_AFTER_MS = 5 * 24 * 3600 * 1000;

/** An outbox row without a further event. */
export type DoneRow = { readonly id: number; readonly accountId: number };

/**
 * Commits what became of events: the log, the next attempts, the state of the webhooks; and takes from the outbox the
 * rows that are told to their end. Until then nothing is forgotten, so after a crash the events since the last call go
 * out again, under the same ids.
 *
 * What concerns accounts that are another worker's by now is dropped: that one tells all of it again.
 *
 * @returns the accounts that are still this worker's
 */
export function record(
  pool: Pool,
  { owner, settled, done }: { owner: number; settled: readonly Settled[]; done: readonly DoneRow[] },
): Promise<ReadonlySet<number>> {
  return transaction(pool, async (tx) => {
    const accountIds = [...settled.map(({ event }) => event.accountId), ...done.map(({ accountId }) => accountId)];
    const own = await listOwnAccounts(tx, { owner, accountIds: [...new Set(accountIds)] });
    const mine = settled.filter(({ event }) => own.has(event.accountId));
    const ids = done.filter(({ accountId }) => own.has(accountId)).map(({ id }) => id);
    await recordEvents(tx, mine.map(judge));
    if (ids.length > 0) await deleteOutbox(tx, { ids });
    for (const [id, ofTarget] of Map.groupBy(mine, ({ target }) => target?.id))
      if (id !== undefined) await recordHealth(tx, ofTarget);
    return own;
  });
}

type Judged = {
  readonly event: LaneEvent;
  /** Null: nothing was tried, and nothing will be. */
  readonly entry: LogEntry | null;
  readonly next: 'none' | 'later' | 'behind';
};

/** What an ending means for the event. */
function judge({ event, ending }: Settled): Judged {
  switch (ending.kind) {
    case 'acknowledged': {
      const { code, durationMs, at, answer } = ending;
      const entry = entryOf(event, {
        state: 'DELIVERED',
        attempts: event.attempts + 1,
        responseCode: code,
        durationMs,
        triedAt: at,
        answer,
      });
      return { event, entry, next: 'none' };
    }
    case 'failed':
      return judgeFailed(event, ending);
    case 'behind':
      return { event, entry: entryOf(event, { failure: 'waits for an earlier event of its message' }), next: 'behind' };
    case 'left out': {
      const entry = event.outboxId === null ? entryOf(event, { state: 'DEAD', failure: 'no webhook wants it' }) : null;
      return { event, entry, next: 'none' };
    }
    case 'given up':
      return { event, entry: entryOf(event, { state: 'DEAD', failure: ending.reason }), next: 'none' };
  }
}

function judgeFailed(event: LaneEvent, failed: Extract<Settled['ending'], { kind: 'failed' }>): Judged {
  const { code, reason, durationMs, retryAfterMs, at, answer } = failed;
  const attempts = event.attempts + 1;
  const delayMs = failed.unwanted ? null : retryDelayMs(attempts, retryAfterMs);
  const entry = entryOf(event, {
    attempts,
    responseCode: code,
    durationMs,
    failure: reason ?? `answered ${code}`,
    triedAt: at,
    answer,
    ...(delayMs === null ? { state: 'DEAD' } : { nextAttemptAt: new Date(Date.now() + delayMs) }),
    failed: { at: at.toISOString(), code, reason, ms: durationMs, answer },
  });
  return { event, entry, next: delayMs === null ? 'none' : 'later' };
}

const entryOf = (event: LaneEvent, more: Partial<LogEntry>): LogEntry => ({
  accountId: event.accountId,
  id: event.id,
  messageId: event.messageId,
  kind: event.kind,
  status: event.status,
  at: event.at,
  error: event.error,
  state: 'PENDING',
  attempts: event.attempts,
  responseCode: null,
  durationMs: null,
  failure: null,
  nextAttemptAt: null,
  failed: null,
  triedAt: null,
  answer: null,
  ...more,
});

/** Those that wait are written before those that end: the end of one lets go what waits behind it. */
async function recordEvents(tx: Db, judged: readonly Judged[]): Promise<void> {
  const entries = judged.flatMap(({ entry }) => entry ?? []);
  const later = judged.filter(({ next }) => next !== 'none');
  const ended = judged.filter(
    ({ event, entry, next }) => next === 'none' && (event.outboxId === null || isDead(entry)),
  );
  if (entries.length > 0) await insertLog(tx, entries);
  if (later.length > 0)
    await insertRetries(
      tx,
      later.map(({ event, entry }) => ({ ...event, dueAt: entry?.nextAttemptAt ?? null })),
    );
  if (ended.length > 0)
    await deleteRetries(
      tx,
      ended.map(({ event }) => event),
    );
}

const isDead = (entry: LogEntry | null): boolean => entry?.state === 'DEAD';

/** What the answers say of one webhook. One success among failures makes it one that works. */
async function recordHealth(tx: Db, settled: readonly Settled[]): Promise<void> {
  const last = settled.at(-1);
  if (!last?.target || last.target.disabledReason !== null) return;
  const webhook = { accountId: last.event.accountId, id: last.target.id };
  const failures = settled.flatMap(({ ending }) => (ending.kind === 'failed' ? [ending] : []));
  if (failures.some(({ unwanted }) => unwanted))
    await moveToDisabled(tx, { ...webhook, reason: 'the receiver answered 410 Gone' });
  else if (settled.some(({ ending }) => ending.kind === 'acknowledged')) await recordSuccess(tx, webhook, last.target);
  else if (failures.length > 0) await recordFailure(tx, webhook, last.target);
}

type Webhook = { readonly accountId: number; readonly id: number };

async function recordSuccess(tx: Db, webhook: Webhook, { failingSince }: Target): Promise<void> {
  if (failingSince !== null) await moveToSucceeding(tx, webhook);
}

async function recordFailure(tx: Db, webhook: Webhook, { failingSince }: Target): Promise<void> {
  if (failingSince === null) await moveToFailing(tx, webhook);
  else if (Date.now() - failingSince.getTime() > GIVEN_UP_AFTER_MS)
    await moveToDisabled(tx, { ...webhook, reason: 'it has failed for five days without one success' });
}
