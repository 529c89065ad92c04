import type { Pool } from 'pg';
import type { Polled, Poller } from '../../carriers/http-sms/poll.ts';
import type { Config } from '../../platform/config.ts';
import type { Log } from '../../platform/lib/log.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { carrierContext } from '../../network/connections/context.ts';
import { kindOf } from '../../network/connections/kinds/kinds.ts';
import { secretOf } from '../../network/connections/save.ts';
import { type Connection, listConnections } from '../../network/connections/sql.ts';
import type { StoreCallback } from '../callbacks/store.ts';
import { type Claim, claimPoll, updatePoll } from './sql.ts';

export type PollDeps = {
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
  await deps.storeCallback(connectionId, { ...NOTHING, receipts: found.receipts, inbounds: found.inbounds });
  return moveOn(deps, connection, poller, claim, found);
}

const NOTHING = { kind: 'events', subscriptions: [], templates: [], notices: [], notes: [] } as const;

/** Stores the cursor of committed events, and notifies the carrier. Returns true if there may be more immediately. */
async function moveOn(
  { pool, log }: PollDeps,
  { id: connectionId, name }: Connection,
  poller: Poller,
  { dueAt }: Claim,
  { receipts, inbounds, cursor, hasMoved }: Extract<Polled, { kind: 'events' }>,
): Promise<boolean> {
  const isMore = hasMoved && receipts.length + inbounds.length > 0;
  const afterMs = isMore ? 0 : poller.intervalMs;
  if (!(await updatePoll(pool, { connectionId, dueAt, cursor, afterMs }))) return false;
  const reason = hasMoved ? await poller.confirm(cursor) : null;
  if (reason !== null) log.warn({ connection: name, reason }, 'the carrier could not be notified of the stored events');
  return isMore;
}
