import type { Pool } from 'pg';
import type { Log } from '../../../platform/lib/log.ts';
import { startLoop } from '../../../platform/lib/loop.ts';
import type { SecretKey } from '../../../platform/lib/secret-box.ts';
import { listDueRetries } from '../delivery-log/sql.ts';
import { createHoldings } from './holdings.ts';
import { createLane, type Lane, type LaneEvent, type Settled, type Target } from './lane.ts';
import { loadRetries, loadRows } from './load.ts';
import { claimAccounts, deleteClaims, listOutbox, type Want } from '../outbox/sql.ts';
import type { Poster } from '../../../platform/outbound/post.ts';
import { record } from './record.ts';
import { openSecrets } from '../secrets.ts';
import { sendEvent } from './send.ts';
import { type Endpoint, listEndpoints } from '../sql.ts';

/** Accounts that one worker holds at most. */
const MOST_LANES = 5000;
/** Requests under way in one worker, shared by the accounts that have any. */
const MOST_AT_ONCE = 2048;
/** Events that a row of the outbox has at most. */
const EVENTS_A_ROW = 500;
/** What has settled is committed together; the earlier one of so many, or of so much time. */
const SETTLED_A_TURN = 200;
/** With so many that are not committed nothing more is sent: after a crash all of them go out again. */
const MOST_UNCOMMITTED = 1000;
const BUSY_MS = 20;
/** New events wake the loop; this is for those to be tried again, and for a dead worker's. */
const IDLE_MS = 2000;
/** An account without events goes back to whoever claims it next; a failing one stays, and with it its breaker. */
const RELEASE_AFTER_MS = 5000;
const RELEASE_FAILING_AFTER_MS = 600_000;

export type DeliveriesDeps = {
  readonly pool: Pool;
  /** The advisory lock key of this worker. */
  readonly owner: number;
  readonly poster: Poster;
  readonly secretKey: SecretKey;
  /** While it answers true, no events are taken up. */
  readonly paused?: () => boolean;
  readonly log: Log;
};

export type Deliveries = {
  /** Looks for events now. */
  wake(): void;
  /** Starts nothing more, lets what is under way end or the deadline pass, commits, gives the accounts back. */
  stop(deadlineMs: number): Promise<void>;
};

/**
 * Tells webhooks what happened: claims accounts that have events, sends them, and commits what became of them. Any
 * number of workers may run it. Each event is sent at least once or ends in the log as DEAD, whatever is killed: it
 * leaves the outbox in the transaction that writes its answer into the log.
 *
 * A turn commits what has settled, then loads: in this order, so that what it loads knows of every failure before it.
 */
export function startDeliveries(deps: DeliveriesDeps): Deliveries {
  const { pool, owner, poster, secretKey, paused = () => false, log } = deps;
  const lanes = new Map<number, Lane>();
  const holdings = createHoldings();
  let settled: Settled[] = [];
  let stopping = false;

  const share = (): number => {
    const busy = lanes.values().reduce((count, lane) => count + (lane.idleSinceMs() === null ? 1 : 0), 0);
    return Math.max(1, Math.floor(MOST_AT_ONCE / Math.max(1, busy)));
  };
  let shareNow = MOST_AT_ONCE;

  function open(accountId: number): Lane {
    const lane: Lane = createLane(accountId, {
      send: (event, target) => sendEvent(poster, event, target),
      share: () => (settled.length < MOST_UNCOMMITTED ? shareNow : 0),
      onSettled(one) {
        if (lanes.get(accountId) !== lane) return;
        settled.push(one);
        if (settled.length >= SETTLED_A_TURN) loop.wake();
      },
    });
    lanes.set(accountId, lane);
    return lane;
  }

  /** Forgets an account and all that is in memory of it; the database has it still. */
  function drop(accountId: number): void {
    lanes.get(accountId)?.close();
    lanes.delete(accountId);
    holdings.drop(accountId);
    settled = settled.filter(({ event }) => event.accountId !== accountId);
  }

  async function commit(): Promise<void> {
    const batch = [...settled];
    const done = holdings.endedBy(batch);
    if (batch.length + done.length === 0) return;
    const own = await record(pool, { owner, settled: batch, done });
    settled = settled.slice(batch.length);
    holdings.release(batch, done);
    for (const { event, ending } of batch)
      if (ending.kind === 'failed') lanes.get(event.accountId)?.release(event.messageId);
    const accountIds = [...batch.map(({ event }) => event.accountId), ...done.map(({ accountId }) => accountId)];
    for (const accountId of new Set(accountIds)) if (!own.has(accountId)) drop(accountId);
  }

  async function load(): Promise<void> {
    if (paused()) return;
    const limit = Math.max(0, MOST_LANES - lanes.size);
    const accountIds = await claimAccounts(pool, { owner, limit });
    const wants = accountIds
      .map((accountId) => ({ accountId, limit: (lanes.get(accountId) ?? open(accountId)).room() }))
      .filter((want) => want.limit > 0);
    if (wants.length > 0) await loadInto(wants);
  }

  async function loadInto(wants: readonly Want[]): Promise<void> {
    const rows = wants.map(({ accountId, limit }) => ({ accountId, limit: Math.ceil(limit / EVENTS_A_ROW) }));
    const [due, fresh] = await Promise.all([
      listDueRetries(pool, { wants, heldIds: holdings.retryIds() }),
      listOutbox(pool, { wants: rows, heldIds: holdings.rowIds() }),
    ]);
    const [{ events, behind, done }, again] = await Promise.all([loadRows(pool, fresh), loadRetries(pool, due)]);
    holdings.hold({ rows: fresh, done, retries: again });
    settled = [...settled, ...behind];
    for (const [accountId, own] of Map.groupBy([...again, ...events], (event: LaneEvent) => event.accountId))
      lanes.get(accountId)?.add(own);
  }

  /** An endpoint may change at any time: what is sent from now on goes by what stands there now. */
  async function aim(): Promise<void> {
    const waiting = [...lanes.values()].filter((lane) => lane.waiting() > 0);
    if (waiting.length === 0) return;
    const endpoints = await listEndpoints(pool, { accountIds: waiting.map(({ accountId }) => accountId) });
    const byAccount = new Map(endpoints.map((endpoint) => [endpoint.accountId, endpoint]));
    for (const lane of waiting) lane.target = toTarget(byAccount.get(lane.accountId), lane.target);
  }

  /** One whose secrets cannot be opened has none: its events fail, and the operator is told once. */
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
    const idle = [...lanes.values()].filter((lane) => {
      const idleForMs = nowMs - (lane.idleSinceMs() ?? nowMs);
      return idleForMs > (lane.isFailing() ? RELEASE_FAILING_AFTER_MS : RELEASE_AFTER_MS);
    });
    const held = holdings.accountIds();
    const accountIds = idle.map((lane) => lane.accountId).filter((accountId) => !held.has(accountId));
    if (accountIds.length === 0) return;
    await deleteClaims(pool, { owner, accountIds });
    for (const accountId of accountIds) drop(accountId);
  }

  async function turn(): Promise<number> {
    const start = performance.now();
    await commit();
    if (!stopping) {
      await load();
      await aim();
      shareNow = share();
      for (const lane of lanes.values()) lane.pump();
      await release();
    }
    const busy = settled.length > 0 || lanes.values().some((lane) => lane.waiting() + lane.inFlight() > 0);
    // Half of the time at most: with a thousand accounts a turn takes as long as the pause after it.
    return busy ? Math.max(BUSY_MS, performance.now() - start) : IDLE_MS;
  }

  const loop = startLoop('webhooks', turn, log);
  return {
    wake: loop.wake,
    async stop(deadlineMs) {
      stopping = true;
      await loop.stop();
      for (const lane of lanes.values()) lane.close();
      await drained(lanes, deadlineMs);
      await commit();
      await deleteClaims(pool, { owner, accountIds: [...lanes.keys()] });
    },
  };
}

const LOOK_MS = 20;

async function drained(lanes: ReadonlyMap<number, Lane>, deadlineMs: number): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (lanes.values().some((lane) => lane.inFlight() > 0) && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}
