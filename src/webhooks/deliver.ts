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
import { type Endpoint, listEndpoints, openHeaders, openSecrets } from './endpoints.ts';
import { filterOf } from './filters.ts';
import type { Links } from './event-types.ts';
import { type KnownFacts, withFacts } from './facts.ts';
import {
  type DoneRow,
  type EventKey,
  listDueRetries,
  listLogged,
  listWaitingMessages,
  placeOf,
  type RetryLimit,
  recordSettled,
} from './log.ts';
import {
  type ClaimedAccount,
  claimAccounts,
  deleteClaims,
  divideOutbox,
  eventsOf,
  listOutbox,
  type OutboxRow,
  type RowLimit,
  type RowLimits,
  UNDIVIDED,
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
  readonly fileUrl: Links['fileUrl'];
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
  const { pool, owner, poster, secretKey, tracing, fileUrl, paused = () => false, log } = deps;
  /** Queues by `queueKey`. */
  const queues = new Map<string, AccountQueue>();
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

  function open(place: Place): AccountQueue {
    const key = queueKey(place);
    const queue: AccountQueue = createAccountQueue(place, {
      send: tracing
        ? (event, target) => sendTraced(tracing, poster, event, target)
        : (event, target) => sendEvent(poster, event, target),
      share: () => (settled.length < MAX_UNCOMMITTED ? shareNow : 0),
      onSettled(one) {
        if (queues.get(key) !== queue) return;
        settled.push(one);
        if (settled.length >= SETTLED_PER_COMMIT) loop.wake();
      },
    });
    queues.set(key, queue);
    return queue;
  }
  const queueOf = (place: Place): AccountQueue => queues.get(queueKey(place)) ?? open(place);

  /** Drops an endpoint from memory; the database still has its events. */
  function drop(place: Place): void {
    const key = queueKey(place);
    queues.get(key)?.close();
    queues.delete(key);
    held.drop(key);
    settled = settled.filter(({ event }) => queueKey(event) !== key);
  }

  function dropAccounts(isLost: (accountId: number) => boolean): void {
    for (const queue of queues.values()) if (isLost(queue.accountId)) drop(queue);
  }

  async function commit(): Promise<void> {
    const batch = [...settled];
    const done = held.endedBy(batch);
    if (batch.length + done.length === 0) return;
    const own = await recordSettled(pool, { owner, settled: batch, done });
    settled = settled.slice(batch.length);
    held.release(batch, done);
    for (const { event, result } of batch)
      if (result.kind === 'failed') queues.get(queueKey(event))?.release(event.messageId);
    const accountIds = [...batch.map(({ event }) => event.accountId), ...done.map(({ accountId }) => accountId)];
    const lost = new Set(accountIds).difference(own);
    if (lost.size > 0) dropAccounts((accountId) => lost.has(accountId));
  }

  async function load(): Promise<void> {
    if (paused()) return;
    const limit = Math.max(0, MAX_ACCOUNTS - queues.size);
    const accounts = await claimAccounts(pool, { owner, limit });
    const places = accounts.flatMap(placesIn);
    const fairShare = Math.max(1, Math.floor(MAX_LOADED / places.length));
    const wants = places
      .map((place) => {
        const { room, fill } = queueOf({ ...place, endpoint: place.queue });
        const limitOf = (lane: Lane): RowLimit => {
          const events = Math.min(room(lane), fairShare);
          return { rows: fill[lane].rowsFor(events), events };
        };
        return { ...place, limit: room('other'), single: limitOf('single'), other: limitOf('other') };
      })
      .filter(({ single, other }) => single.events + other.events > 0);
    const accountIds = accounts.filter(({ divides }) => divides).map(({ accountId }) => accountId);
    if (accountIds.length > 0) await divideOutbox(pool, { owner, accountIds, heldIds: held.rowIds() });
    if (wants.length > 0) await loadInto(wants);
  }

  async function loadInto(wants: readonly (WantedPlace & RowLimits & RetryLimit)[]): Promise<void> {
    const mayRetry = wants.filter(({ mayHaveRetries }) => mayHaveRetries);
    const retrying = new Set(mayRetry.map(({ accountId }) => accountId));
    const withRetries = mayRetry.filter(({ endpoint }) => endpoint !== UNDIVIDED);
    const [due, fresh] = await Promise.all([
      withRetries.length > 0 ? listDueRetries(pool, { wants: withRetries, held: held.retries() }) : [],
      listOutbox(pool, { wants, heldIds: held.rowIds() }),
    ]);
    const [{ events, behind, done }, again] = await Promise.all([
      loadRows(pool, fresh, { known, retrying }),
      withFacts(
        pool,
        due.map((retry) => ({ ...retry, outboxId: null })),
        known,
      ),
    ]);
    held.hold({ rows: fresh, done, retries: again });
    noteFill(fresh);
    settled = [...settled, ...behind];
    for (const own of Map.groupBy([...again, ...events], (event: QueuedEvent) => queueKey(event)).values())
      if (own[0]) queueOf(own[0]).add(own);
  }

  function noteFill(rows: readonly OutboxRow[]): void {
    for (const [key, own] of Map.groupBy(rows, queueKey))
      for (const lane of LANES) {
        const counts = own
          .filter((row) => laneOf(row.messageIds[0] ?? '') === lane)
          .map((row) => row.messageIds.length);
        queues.get(key)?.fill[lane].loaded(counts);
      }
  }

  /** Reloads the endpoints, which may change at any time: all further requests follow their current rows. */
  async function updateTargets(): Promise<void> {
    const waiting = [...queues.values()].filter((queue) => queue.waiting() > 0);
    if (waiting.length === 0) return;
    const accountIds = [...new Set(waiting.map(({ accountId }) => accountId))];
    const endpoints = await listEndpoints(pool, { accountIds });
    const byPlace = new Map(endpoints.map((one) => [queueKey({ ...one, endpoint: one.ref }), one]));
    for (const queue of waiting) {
      const endpoint = byPlace.get(queueKey(queue));
      if (endpoint?.status === 'paused') drop(queue);
      else queue.target = toTarget(endpoint, queue.target);
    }
  }

  /**
   * Makes the target of an endpoint. One whose secrets cannot be opened gets none: its events fail, and the error is
   * logged once.
   */
  function toTarget(endpoint: Endpoint | undefined, before: Target | null | undefined): Target | null {
    if (!endpoint) return null;
    const isSame = before?.id === endpoint.id && before.updatedAt.getTime() === endpoint.updatedAt.getTime();
    const accepts = isSame ? before.accepts : filterOf(endpoint.filters);
    try {
      const moreHeaders = openHeaders(secretKey, endpoint);
      return { ...endpoint, accepts, fileUrl, moreHeaders, secrets: openSecrets(secretKey, endpoint, new Date()) };
    } catch (err) {
      if (before?.id !== endpoint.id)
        log.error({ err, accountId: endpoint.accountId }, 'cannot sign the events of a webhook');
      return { ...endpoint, accepts, fileUrl, moreHeaders: {}, secrets: [] };
    }
  }

  async function release(): Promise<void> {
    const nowMs = performance.now();
    const isIdle = (queue: AccountQueue): boolean => {
      const idleForMs = nowMs - (queue.idleSinceMs() ?? nowMs);
      return idleForMs > (queue.isFailing() ? RELEASE_FAILING_AFTER_MS : RELEASE_AFTER_MS);
    };
    const heldAccounts = held.accountIds();
    const byAccount = Map.groupBy(queues.values(), (queue) => queue.accountId);
    const accountIds = [...byAccount]
      .filter(([accountId, own]) => own.every(isIdle) && !heldAccounts.has(accountId))
      .map(([accountId]) => accountId);
    if (accountIds.length === 0) return;
    await deleteClaims(pool, { owner, accountIds });
    const released = new Set(accountIds);
    dropAccounts((accountId) => released.has(accountId));
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
      const accountIds = [...new Set(queues.values().map(({ accountId }) => accountId))];
      await deleteClaims(pool, { owner, accountIds });
    },
  };
}

const DRAIN_POLL_MS = 20;

async function drained(queues: ReadonlyMap<string, AccountQueue>, deadlineMs: number): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (queues.values().some((queue) => queue.inFlight() > 0) && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
}

type Event = Pick<QueuedEvent, 'id' | 'accountId' | 'endpoint' | 'outboxId'>;

/** An endpoint (`ref`) of an account. */
type Place = { readonly accountId: number; readonly endpoint: number };
const queueKey = ({ accountId, endpoint }: Place): string => `${accountId}/${endpoint}`;

/** A place in the outbox to look for rows, and the queue that has room for them. */
type WantedPlace = Place & Pick<ClaimedAccount, 'mayHaveRetries'> & { readonly queue: number };

/** Lists the places of an account in the outbox: its endpoints and, unless they are several, what is for the only one. */
function placesIn({ accountId, mayHaveRetries, endpoints, divides }: ClaimedAccount): WantedPlace[] {
  const own = endpoints.map((endpoint) => ({ accountId, mayHaveRetries, endpoint, queue: endpoint }));
  return divides ? own : [{ accountId, mayHaveRetries, endpoint: UNDIVIDED, queue: endpoints[0] ?? 0 }, ...own];
}

/** Contents of one worker's memory: rows of the outbox, and events to retry. */
type HeldEvents = {
  rowIds(): number[];
  retries(): EventKey[];
  accountIds(): ReadonlySet<number>;
  /** Adds rows and retries. @param done events of these rows that are in the log already */
  hold(held: { rows: readonly OutboxRow[]; done: readonly Event[]; retries: readonly Event[] }): void;
  /** Returns the rows that have no further event once these have settled. */
  endedBy(settled: readonly SettledEvent[]): DoneRow[];
  /** Drops events that have settled and rows that have ended; call it after the commit. */
  release(settled: readonly SettledEvent[], ended: readonly DoneRow[]): void;
  /** Drops everything of an endpoint (`queueKey`). */
  drop(key: string): void;
};

/**
 * Keeps track of the rows and events that this worker holds, so that it loads nothing twice and knows when a row is
 * complete.
 */
function createHeldEvents(): HeldEvents {
  /** Rows with the number of their events that have not settled. */
  const rows = new Map<number, Place & { left: number }>();
  const retries = new Map<string, EventKey>();

  function settle({ outboxId }: Event): void {
    const row = outboxId === null ? undefined : rows.get(outboxId);
    if (row) row.left--;
  }
  return {
    rowIds: () => [...rows.keys()],
    retries: () => [...retries.values()],
    accountIds: () => new Set(rows.values().map((row) => row.accountId)),
    hold(held) {
      for (const { id, accountId, endpoint, messageIds } of held.rows)
        rows.set(id, { accountId, endpoint, left: messageIds.length });
      held.done.forEach(settle);
      for (const retry of held.retries) retries.set(placeOf(retry.endpoint, retry.id), retry);
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
        retries.delete(placeOf(event.endpoint, event.id));
      }
      for (const { id } of ended) rows.delete(id);
    },
    drop(key) {
      for (const [id, row] of rows) if (queueKey(row) === key) rows.delete(id);
      for (const [id, retry] of retries) if (queueKey(retry) === key) retries.delete(id);
    },
  };
}

/** Lists the events of an outbox row for its endpoint, in their order. */
const queuedOf = (row: OutboxRow) =>
  eventsOf(row).map((event) => ({
    ...event,
    accountId: row.accountId,
    endpoint: row.endpoint,
    seq: row.id,
    outboxId: row.id,
    attempts: 0,
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
  const all = rows.flatMap(queuedOf);
  if (all.length === 0) return { events: [], behind: [], done: [] };
  const [firstId, lastId] = boundsOf(all.map((event) => event.id));
  const messages = all.filter(({ accountId }) => retrying.has(accountId));
  const [loaded, logged, waiting] = await Promise.all([
    withFacts(db, all, known),
    listLogged(db, { keys: all, firstId, lastId }),
    messages.length > 0 ? listWaitingMessages(db, { messages }) : new Set<string>(),
  ]);
  const isLogged = ({ endpoint, id }: Event): boolean => logged.has(placeOf(endpoint, id));
  const waits = (event: QueuedEvent): boolean => waiting.has(placeOf(event.endpoint, event.messageId));
  const fresh = loaded.filter((event) => !isLogged(event));
  return {
    events: fresh.filter((event) => !waits(event)),
    behind: fresh.filter(waits).map((event): SettledEvent => ({ event, result: { kind: 'behind' }, target: null })),
    done: loaded.filter(isLogged),
  };
}
