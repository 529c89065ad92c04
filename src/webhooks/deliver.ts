import { LRUCache } from 'lru-cache';
import type { Pool } from 'pg';
import { startLoop } from '../core/background.ts';
import type { Db } from '../core/db/query.ts';
import { boundsOf } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import type { Poster } from '../core/outbound-post.ts';
import type { SecretKey } from '../core/secrets.ts';
import type { Tracing } from '../core/tracing.ts';
import {
  type AccountQueue,
  createAccountQueue,
  LANES,
  type Lane,
  laneOf,
  type QueuedEvent,
  type SettledEvent,
  type Target,
} from './account-queue.ts';
import { type Endpoint, listEndpoints, openSecrets } from './endpoints.ts';
import { eventIdOf, type KnownFacts, withFacts } from './events.ts';
import {
  type AccountLimit,
  type DoneRow,
  listDueRetries,
  listLogged,
  listWaitingMessages,
  recordSettled,
} from './log.ts';
import {
  type ClaimedAccount,
  claimAccounts,
  deleteClaims,
  listOutbox,
  type OutboxRow,
  type RowLimit,
  type RowLimits,
} from './outbox.ts';
import { sendEvent, sendTraced } from './send.ts';

/** Accounts per worker. */
const MAX_ACCOUNTS = 5000;
/** Concurrent requests per worker, shared by the accounts that have events. */
const MAX_REQUESTS = 2048;
/**
 * Approximate maximum of events that a turn loads in each lane: sending waits for it. With 20,000 of a thousand
 * accounts in one turn, half of the events came 2.7 s late instead of 0.3 s.
 */
const MAX_LOADED = 2048;
/** Settled events are committed together after this many, or after `BUSY_MS`. */
const SETTLED_PER_COMMIT = 200;
/** Messages whose facts are remembered for their next event, which mostly follows within seconds. */
const KNOWN_FACTS = { max: 20_000, ttl: 10_000 };
/** Nothing more is sent while this many results are not committed: after a crash these events are sent again. */
const MAX_UNCOMMITTED = 1000;
const BUSY_MS = 50;
/** New events wake an idle loop; this is its poll for retries and for the events of dead workers. */
const IDLE_MS = 2000;
/** An idle account is released to other workers; a failing one is kept longer, so that its circuit breaker survives. */
const RELEASE_AFTER_MS = 5000;
const RELEASE_FAILING_AFTER_MS = 600_000;

type DeliveriesDeps = {
  readonly pool: Pool;
  /** The advisory lock key of this worker. */
  readonly owner: number;
  readonly poster: Poster;
  readonly secretKey: SecretKey;
  /** Null, or omitted, where nothing is traced. */
  readonly tracing?: Tracing | null;
  /** While it returns true, no events are loaded. */
  readonly paused?: () => boolean;
  readonly log: Log;
};

export type Deliveries = {
  /** Loads new events now. */
  wake(): void;
  /** Starts nothing more, waits for requests in flight until the deadline, commits, and releases the accounts. */
  stop(deadlineMs: number): Promise<void>;
};

/**
 * Delivers events to webhooks: claims accounts that have events, sends them, and commits the results. Any number of
 * workers may run it. Each event is sent at least once or ends in the log as DEAD, whatever is killed: it leaves the
 * outbox in the transaction that writes its result into the log.
 *
 * A turn commits settled events before it loads new ones, so that the new ones reflect every earlier failure.
 */
export function startDeliveries(deps: DeliveriesDeps): Deliveries {
  const { pool, owner, poster, secretKey, tracing, paused = () => false, log } = deps;
  const queues = new Map<number, AccountQueue>();
  const held = createHeldEvents();
  const known: KnownFacts = new LRUCache(KNOWN_FACTS);
  let settled: SettledEvent[] = [];
  let stopping = false;
  /** True if events have been committed since the turn began. */
  let woken = false;
  /** True if there is nothing to do until the next event or poll. */
  let resting = false;

  const share = (): number => {
    const busy = queues.values().reduce((count, queue) => count + (queue.idleSinceMs() === null ? 1 : 0), 0);
    return Math.max(1, Math.floor(MAX_REQUESTS / Math.max(1, busy)));
  };
  let shareNow = MAX_REQUESTS;

  function open(accountId: number): AccountQueue {
    const queue: AccountQueue = createAccountQueue(accountId, {
      send: tracing
        ? (event, target) => sendTraced(tracing, poster, event, target)
        : (event, target) => sendEvent(poster, event, target),
      share: () => (settled.length < MAX_UNCOMMITTED ? shareNow : 0),
      onSettled(one) {
        if (queues.get(accountId) !== queue) return;
        settled.push(one);
        if (settled.length >= SETTLED_PER_COMMIT) loop.wake();
      },
    });
    queues.set(accountId, queue);
    return queue;
  }

  /** Drops an account from memory; the database still has its events. */
  function drop(accountId: number): void {
    queues.get(accountId)?.close();
    queues.delete(accountId);
    held.drop(accountId);
    settled = settled.filter(({ event }) => event.accountId !== accountId);
  }

  async function commit(): Promise<void> {
    const batch = [...settled];
    const done = held.endedBy(batch);
    if (batch.length + done.length === 0) return;
    const own = await recordSettled(pool, { owner, settled: batch, done });
    settled = settled.slice(batch.length);
    held.release(batch, done);
    for (const { event, result } of batch)
      if (result.kind === 'failed') queues.get(event.accountId)?.release(event.messageId);
    const accountIds = [...batch.map(({ event }) => event.accountId), ...done.map(({ accountId }) => accountId)];
    for (const accountId of new Set(accountIds)) if (!own.has(accountId)) drop(accountId);
  }

  async function load(): Promise<void> {
    if (paused()) return;
    const limit = Math.max(0, MAX_ACCOUNTS - queues.size);
    const accounts = await claimAccounts(pool, { owner, limit });
    const fairShare = Math.max(1, Math.floor(MAX_LOADED / accounts.length));
    const wants = accounts
      .map((claimed) => {
        const { room, fill } = queues.get(claimed.accountId) ?? open(claimed.accountId);
        const limitOf = (lane: Lane): RowLimit => {
          const events = Math.min(room(lane), fairShare);
          return { rows: fill[lane].rowsFor(events), events };
        };
        return { ...claimed, limit: room('other'), single: limitOf('single'), other: limitOf('other') };
      })
      .filter(({ single, other }) => single.events + other.events > 0);
    if (wants.length > 0) await loadInto(wants);
  }

  async function loadInto(wants: readonly (ClaimedAccount & RowLimits & AccountLimit)[]): Promise<void> {
    const withRetries = wants.filter(({ mayHaveRetries }) => mayHaveRetries);
    const [due, fresh] = await Promise.all([
      withRetries.length > 0 ? listDueRetries(pool, { wants: withRetries, heldIds: held.retryIds() }) : [],
      listOutbox(pool, { wants, heldIds: held.rowIds() }),
    ]);
    const [{ events, behind, done }, again] = await Promise.all([
      loadRows(pool, fresh, { known, retrying: new Set(withRetries.map(({ accountId }) => accountId)) }),
      withFacts(
        pool,
        due.map((retry) => ({ ...retry, outboxId: null })),
        known,
      ),
    ]);
    held.hold({ rows: fresh, done, retries: again });
    noteFill(fresh);
    settled = [...settled, ...behind];
    for (const [accountId, own] of Map.groupBy([...again, ...events], (event: QueuedEvent) => event.accountId))
      queues.get(accountId)?.add(own);
  }

  function noteFill(rows: readonly OutboxRow[]): void {
    for (const [accountId, own] of Map.groupBy(rows, (row) => row.accountId))
      for (const lane of LANES) {
        const counts = own
          .filter((row) => laneOf(row.messageIds[0] ?? '') === lane)
          .map((row) => row.messageIds.length);
        queues.get(accountId)?.fill[lane].loaded(counts);
      }
  }

  /** Reloads the endpoints, which may change at any time: all further requests follow their current rows. */
  async function updateTargets(): Promise<void> {
    const waiting = [...queues.values()].filter((queue) => queue.waiting() > 0);
    if (waiting.length === 0) return;
    const endpoints = await listEndpoints(pool, { accountIds: waiting.map(({ accountId }) => accountId) });
    const byAccount = new Map(endpoints.map((endpoint) => [endpoint.accountId, endpoint]));
    for (const queue of waiting) queue.target = toTarget(byAccount.get(queue.accountId), queue.target);
  }

  /**
   * Makes the target of an endpoint. One whose secrets cannot be opened gets none: its events fail, and the error is
   * logged once.
   */
  function toTarget(endpoint: Endpoint | undefined, before: Target | null | undefined): Target | null {
    if (!endpoint) return null;
    try {
      return { ...endpoint, secrets: openSecrets(secretKey, endpoint, new Date()) };
    } catch (err) {
      if (before?.id !== endpoint.id)
        log.error({ err, accountId: endpoint.accountId }, 'cannot sign the events of a webhook');
      return { ...endpoint, secrets: [] };
    }
  }

  async function release(): Promise<void> {
    const nowMs = performance.now();
    const idle = [...queues.values()].filter((queue) => {
      const idleForMs = nowMs - (queue.idleSinceMs() ?? nowMs);
      return idleForMs > (queue.isFailing() ? RELEASE_FAILING_AFTER_MS : RELEASE_AFTER_MS);
    });
    const heldAccounts = held.accountIds();
    const accountIds = idle.map((queue) => queue.accountId).filter((accountId) => !heldAccounts.has(accountId));
    if (accountIds.length === 0) return;
    await deleteClaims(pool, { owner, accountIds });
    for (const accountId of accountIds) drop(accountId);
  }

  async function turn(): Promise<number> {
    const start = performance.now();
    woken = false;
    resting = false;
    await commit();
    if (!stopping) {
      await load();
      await updateTargets();
      shareNow = share();
      for (const lane of LANES) for (const queue of queues.values()) queue.pump(lane);
      await release();
    }
    const busy = settled.length > 0 || queues.values().some((queue) => queue.waiting() + queue.inFlight() > 0);
    resting = !busy && !woken;
    // At most half of the time: with a thousand accounts a turn takes as long as the pause after it.
    return resting ? IDLE_MS : Math.max(BUSY_MS, performance.now() - start);
  }

  /**
   * Wakes the loop. Single sends commit events many times within `BUSY_MS`: a turn for each costs more than the events
   * themselves.
   */
  function wake(): void {
    woken = true;
    if (resting) loop.wake();
  }

  const loop = startLoop('webhooks', turn, log);
  return {
    wake,
    async stop(deadlineMs) {
      stopping = true;
      await loop.stop();
      for (const queue of queues.values()) queue.close();
      await drained(queues, deadlineMs);
      await commit();
      await deleteClaims(pool, { owner, accountIds: [...queues.keys()] });
    },
  };
}

const DRAIN_POLL_MS = 20;

async function drained(queues: ReadonlyMap<number, AccountQueue>, deadlineMs: number): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (queues.values().some((queue) => queue.inFlight() > 0) && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
}

type Event = Pick<QueuedEvent, 'id' | 'accountId' | 'outboxId'>;

/** Contents of one worker's memory: rows of the outbox, and events to retry. */
type HeldEvents = {
  rowIds(): number[];
  retryIds(): string[];
  accountIds(): ReadonlySet<number>;
  /** Adds rows and retries. @param done events of these rows that are in the log already */
  hold(held: { rows: readonly OutboxRow[]; done: readonly Event[]; retries: readonly Event[] }): void;
  /** Returns the rows that have no further event once these have settled. */
  endedBy(settled: readonly SettledEvent[]): DoneRow[];
  /** Drops events that have settled and rows that have ended; call it after the commit. */
  release(settled: readonly SettledEvent[], ended: readonly DoneRow[]): void;
  /** Drops everything of an account. */
  drop(accountId: number): void;
};

/**
 * Keeps track of the rows and events that this worker holds, so that it loads nothing twice and knows when a row is
 * complete.
 */
function createHeldEvents(): HeldEvents {
  /** Rows with the number of their events that have not settled. */
  const rows = new Map<number, { readonly accountId: number; left: number }>();
  const retries = new Map<string, number>();

  function settle({ outboxId }: Event): void {
    const row = outboxId === null ? undefined : rows.get(outboxId);
    if (row) row.left--;
  }
  return {
    rowIds: () => [...rows.keys()],
    retryIds: () => [...retries.keys()],
    accountIds: () => new Set(rows.values().map((row) => row.accountId)),
    hold(held) {
      for (const { id, accountId, messageIds } of held.rows) rows.set(id, { accountId, left: messageIds.length });
      held.done.forEach(settle);
      for (const { id, accountId } of held.retries) retries.set(id, accountId);
    },
    endedBy(settled) {
      const byRow = Map.groupBy(settled, ({ event }) => event.outboxId);
      return [...rows].flatMap(([id, { accountId, left }]) =>
        left === (byRow.get(id)?.length ?? 0) ? [{ id, accountId }] : [],
      );
    },
    release(settled, ended) {
      for (const { event } of settled) {
        settle(event);
        retries.delete(event.id);
      }
      for (const { id } of ended) rows.delete(id);
    },
    drop(accountId) {
      for (const [id, row] of rows) if (row.accountId === accountId) rows.delete(id);
      for (const [id, of] of retries) if (of === accountId) retries.delete(id);
    },
  };
}

/** Lists the events of an outbox row, in their order. */
const eventsOf = ({ id, accountId, seed, kind, status, messageIds, at, errors }: OutboxRow) =>
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

/**
 * Loads the events of outbox rows of any accounts: those to send, those to store for later because an earlier event of
 * their message waits for another attempt, and those that an earlier worker has logged already.
 *
 * @param retrying accounts whose events may wait for another attempt
 */
async function loadRows(
  db: Db,
  rows: readonly OutboxRow[],
  { known, retrying }: { known: KnownFacts; retrying: ReadonlySet<number> },
) {
  const all = rows.flatMap(eventsOf);
  if (all.length === 0) return { events: [], behind: [], done: [] };
  const [firstId, lastId] = boundsOf(all.map((event) => event.id));
  const messages = all.filter(({ accountId }) => retrying.has(accountId));
  const [loaded, logged, waiting] = await Promise.all([
    withFacts(db, all, known),
    listLogged(db, { keys: all, firstId, lastId }),
    messages.length > 0 ? listWaitingMessages(db, { messages }) : new Set<string>(),
  ]);
  const fresh = loaded.filter((event) => !logged.has(event.id));
  return {
    events: fresh.filter((event) => !waiting.has(event.messageId)),
    behind: fresh
      .filter((event) => waiting.has(event.messageId))
      .map((event): SettledEvent => ({ event, result: { kind: 'behind' }, target: null })),
    done: loaded.filter((event) => logged.has(event.id)),
  };
}
