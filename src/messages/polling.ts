import type { Pool } from 'pg';
import type { Polled, Poller } from '../channels/http-sms/carrier.ts';
import { always, type Task } from '../core/background.ts';
import type { Config } from '../core/config.ts';
import { as, columns, type Db, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import type { Log } from '../core/log.ts';
import type { SecretKey } from '../core/secrets.ts';
import { SECOND_MS } from '../core/time.ts';
import { type Connection, listConnections, ROUTING_CHANNEL } from '../routing/connection-store.ts';
import { carrierContext, secretOf } from '../routing/connections.ts';
import { kindOf } from '../routing/kinds.ts';
import { type CallbackStoreDeps, createCallbackStore, type StoreCallback } from './callbacks.ts';

type PollDeps = {
  readonly pool: Pool;
  readonly config: Pick<Config, 'publicUrl' | 'webhooks'>;
  readonly secretKey: SecretKey;
  /** Stores events as those of callbacks; resolves when they are committed. */
  readonly storeCallback: StoreCallback;
  readonly log: Log;
};

/** Lease in addition to the time of the request, for storing its events. */
const LEASE_MS = 60_000;

/**
 * Fetches the events of every connection that is polled and is due. The cursor moves on when they are committed, so a
 * crash fetches some again, which count once. Connections that are paused are included, because their receipts still
 * arrive. Returns whether there are such connections. A failure concerns its own connection and is logged.
 */
export async function pollConnections(deps: PollDeps): Promise<boolean> {
  const connections = await listConnections(deps.pool);
  const polled = await Promise.all(connections.map((connection) => pollOne(deps, connection)));
  return polled.includes(true);
}

async function pollOne(deps: PollDeps, connection: Connection): Promise<boolean> {
  let poller: Poller | null = null;
  try {
    poller = open(deps, connection);
    if (!poller) return false;
    while (await pollOnce(deps, connection, poller));
  } catch (err) {
    deps.log.error({ err, connection: connection.name }, 'events cannot be fetched from the carrier');
  } finally {
    await poller?.close();
  }
  return true;
}

function open({ config, secretKey }: PollDeps, connection: Connection): Poller | null {
  const { polls, createPoller } = kindOf(connection);
  if (!createPoller || polls?.(connection.settings) !== true) return null;
  return createPoller(connection.settings, secretOf(connection, secretKey), carrierContext(config, connection));
}

/** Fetches the events of one connection. Returns true if there may be more immediately. */
async function pollOnce(deps: PollDeps, connection: Connection, poller: Poller): Promise<boolean> {
  const { pool, log } = deps;
  const connectionId = connection.id;
  const claim = await claimPoll(pool, { connectionId, leaseMs: poller.timeoutMs + LEASE_MS });
  if (!claim) return false;
  const found = await poller.poll(claim.cursor);
  if (found.kind === 'failed') {
    log.warn({ connection: connection.name, reason: found.reason }, 'events were not fetched from the carrier');
    await updatePoll(pool, { connectionId, dueAt: claim.dueAt, cursor: null, afterMs: poller.intervalMs });
    return false;
  }
  const answered = Promise.withResolvers<void>();
  const events = { ...NOTHING, receipts: found.receipts, inbounds: found.inbounds };
  await deps.storeCallback(connectionId, events, answered.promise);
  return moveOn(deps, connection, poller, claim, { ...found, onMoved: answered.resolve });
}

const NOTHING = { kind: 'events', subscriptions: [], templates: [], notices: [], notes: [] } as const;

/** Stores the cursor of committed events, and notifies the carrier. Returns true if there may be more immediately. */
async function moveOn(
  { pool, log }: PollDeps,
  { id: connectionId, name }: Connection,
  poller: Poller,
  { dueAt }: Claim,
  { receipts, inbounds, cursor, hasMoved, onMoved }: Extract<Polled, { kind: 'events' }> & { onMoved(): void },
): Promise<boolean> {
  const isMore = hasMoved && receipts.length + inbounds.length > 0;
  const afterMs = isMore ? 0 : poller.intervalMs;
  if (!(await updatePoll(pool, { connectionId, dueAt, cursor, afterMs }))) return false;
  if (hasMoved) onMoved();
  const reason = hasMoved ? await poller.confirm(cursor) : null;
  if (reason !== null) log.warn({ connection: name, reason }, 'the carrier could not be notified of the stored events');
  return isMore;
}

/**
 * Fetches receipts and inbound messages from carriers that do not call. Not while sending is paused: a restored copy
 * would take them from the original.
 */
export function pollingTasks(deps: Omit<PollDeps, 'storeCallback'> & CallbackStoreDeps): Task[] {
  const storeCallback = createCallbackStore(deps);
  const work = async (): Promise<number> =>
    (await pollConnections({ ...deps, storeCallback })) ? SECOND_MS : 10 * SECOND_MS;
  return [{ name: 'polling', pausable: true, work, wakeOn: { [ROUTING_CHANNEL]: always } }];
}

const CLAIM = columns({ cursor: as<string | null>('cursor'), dueAt: as<string>('due_at::text') });

/** The exclusive right to fetch the events of a connection, until `dueAt`. */
type Claim = RowOf<typeof CLAIM>;

/**
 * Claims a connection whose events are due for `leaseMs`; undefined when they are not, or another worker fetches them.
 */
async function claimPoll(
  db: Db,
  { connectionId, leaseMs }: { readonly connectionId: number; readonly leaseMs: number },
): Promise<Claim | undefined> {
  return maybeOne(
    db,
    sql`INSERT INTO connection_poll AS p (connection_id, due_at)
        SELECT id, clock_timestamp() + ${leaseMs} * interval '1 ms' FROM connection WHERE id = ${connectionId}
        ON CONFLICT (connection_id) DO UPDATE SET due_at = excluded.due_at WHERE p.due_at <= clock_timestamp()
        RETURNING ${CLAIM}`,
  );
}

type Ended = {
  readonly connectionId: number;
  readonly dueAt: string;
  /** Null leaves it unchanged. */
  readonly cursor: string | null;
  readonly afterMs: number;
};

/**
 * Ends a claim: keeps the cursor, and is due again after `afterMs`. Undefined when another worker has taken it over.
 */
async function updatePoll(
  db: Db,
  { connectionId, dueAt, cursor, afterMs }: Ended,
): Promise<{ connectionId: number } | undefined> {
  return maybeOne(
    db,
    sql`UPDATE connection_poll
        SET cursor = coalesce(${cursor}, cursor), due_at = clock_timestamp() + ${afterMs} * interval '1 ms'
        WHERE connection_id = ${connectionId} AND due_at = ${dueAt}::timestamptz
        RETURNING ${columns({ connectionId: as<number>('connection_id') })}`,
  );
}
