import type { Pool } from 'pg';
import { DAY_MS } from '../../../platform/lib/time.ts';
import type { Db } from '../../../platform/db/query.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { deleteRetries, insertLog, insertRetries, type LogEntry } from '../delivery-log/sql.ts';
import type { QueuedEvent, SettledEvent, Target } from './account-queue.ts';
import { deleteOutbox, listOwnAccounts } from '../outbox/sql.ts';
import { retryDelayMs } from './retry-delay.ts';
import { moveToDisabled, moveToFailing, moveToSucceeding } from './targets/sql.ts';

const DISABLE_AFTER_MS = 5 * DAY_MS;

/** An outbox row whose events have all ended. */
export type DoneRow = { readonly id: number; readonly accountId: number };

/**
 * Commits the results of events: the log, the next attempts and the state of the webhooks; and deletes completed rows
 * from the outbox. Nothing is dropped before that commit, so after a crash the events since the last call are sent
 * again, under the same ids.
 *
 * Results of accounts that another worker has taken over are dropped: that worker sends their events again.
 *
 * @returns the accounts that this worker still owns
 */
export function recordSettled(
  pool: Pool,
  { owner, settled, done }: { owner: number; settled: readonly SettledEvent[]; done: readonly DoneRow[] },
): Promise<ReadonlySet<number>> {
  return transaction(pool, async (tx) => {
    const accountIds = [...settled.map(({ event }) => event.accountId), ...done.map(({ accountId }) => accountId)];
    const own = await listOwnAccounts(tx, { owner, accountIds: [...new Set(accountIds)] });
    const mine = settled.filter(({ event }) => own.has(event.accountId));
    const ids = done.filter(({ accountId }) => own.has(accountId)).map(({ id }) => id);
    await recordEvents(tx, mine.map(verdictOf));
    if (ids.length > 0) await deleteOutbox(tx, { ids });
    for (const [id, ofTarget] of Map.groupBy(mine, ({ target }) => target?.id))
      if (id !== undefined) await recordHealth(tx, ofTarget);
    return own;
  });
}

type Verdict = {
  readonly event: QueuedEvent;
  /** Null: nothing was tried, and nothing will be tried. */
  readonly entry: LogEntry | null;
  readonly next: 'none' | 'later' | 'behind';
};

/** Interprets a result for its event. */
function verdictOf({ event, result }: SettledEvent): Verdict {
  switch (result.kind) {
    case 'acknowledged': {
      const { code, durationMs, at, answer } = result;
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
      return verdictOfFailure(event, result);
    case 'behind':
      return { event, entry: entryOf(event, { failure: 'waits for an earlier event of its message' }), next: 'behind' };
    case 'left out': {
      const entry =
        event.outboxId === null ? entryOf(event, { state: 'DEAD', failure: 'there is no webhook for it' }) : null;
      return { event, entry, next: 'none' };
    }
    case 'given up':
      return { event, entry: entryOf(event, { state: 'DEAD', failure: result.reason }), next: 'none' };
  }
}

function verdictOfFailure(event: QueuedEvent, failed: Extract<SettledEvent['result'], { kind: 'failed' }>): Verdict {
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
    failures: [{ at: at.toISOString(), code, reason, ms: durationMs, answer }],
  });
  return { event, entry, next: delayMs === null ? 'none' : 'later' };
}

const entryOf = (event: QueuedEvent, more: Partial<LogEntry>): LogEntry => ({
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
  failures: [],
  triedAt: null,
  answer: null,
  ...more,
});

/** Records events. Waiting ones are written before ended ones: the end of an event makes the one behind it due. */
async function recordEvents(tx: Db, verdicts: readonly Verdict[]): Promise<void> {
  const entries = verdicts.flatMap(({ entry }) => entry ?? []);
  const later = verdicts.filter(({ next }) => next !== 'none');
  const ended = verdicts.filter(
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

/** Updates the state of one webhook from its responses. One success among failures counts as working. */
async function recordHealth(tx: Db, settled: readonly SettledEvent[]): Promise<void> {
  const last = settled.at(-1);
  if (!last?.target || last.target.disabledReason !== null) return;
  const webhook = { accountId: last.event.accountId, id: last.target.id };
  const failures = settled.flatMap(({ result }) => (result.kind === 'failed' ? [result] : []));
  if (failures.some(({ unwanted }) => unwanted))
    await moveToDisabled(tx, { ...webhook, reason: 'the receiver returned 410 Gone' });
  else if (settled.some(({ result }) => result.kind === 'acknowledged')) await recordSuccess(tx, webhook, last.target);
  else if (failures.length > 0) await recordFailure(tx, webhook, last.target);
}

type Webhook = { readonly accountId: number; readonly id: number };

async function recordSuccess(tx: Db, webhook: Webhook, { failingSince }: Target): Promise<void> {
  if (failingSince !== null) await moveToSucceeding(tx, webhook);
}

async function recordFailure(tx: Db, webhook: Webhook, { failingSince }: Target): Promise<void> {
  if (failingSince === null) await moveToFailing(tx, webhook);
  else if (Date.now() - failingSince.getTime() > DISABLE_AFTER_MS)
    await moveToDisabled(tx, { ...webhook, reason: 'it has failed for five days without one success' });
}
