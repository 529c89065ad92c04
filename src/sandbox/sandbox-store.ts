import type { Pool } from 'pg';
import { type Author, GATEWAY_ACCOUNT_ID, operatorAuthor, recordAudit } from '../accounts/audit.ts';
import type { Config } from '../core/config.ts';
import { as, columns, constant, type Db, exec, many, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import type { WorkerSession } from '../core/db/worker-session.ts';
import type { Log } from '../core/log.ts';
import { OPEN_STATES, STATUS } from '../core/message-state.ts';
import type { SecretKey } from '../core/secrets.ts';
import { cancelMessages } from '../messages/cancellation.ts';
import { endMessages } from '../messages/end.ts';
import { insertNumber } from '../messages/inbound-store.ts';
import { deleteUnmatchedOfSandbox } from '../messages/receipt-store.ts';
import { EXPIRED_BY_US } from '../messages/store.ts';
import { countRealConnections, findConnection, notifyRoutingChange } from '../routing/connection-store.ts';
import {
  injectInbound,
  RCS_NAME,
  readSandboxInbound,
  retireSandboxNetworks,
  retireSmsc,
  retireSocial,
  type SandboxSocialNetworks,
  SMSC_NAME,
  startSandboxNetworks,
  startSmsc,
  startSocial,
  WHATSAPP_NAME,
} from './sandbox.ts';

/**
 * Resolves with true if the sandbox must run: as SANDBOX states or, if it is `auto`, while no real carrier is
 * configured, and next to real carriers once `sandbox restore` has been called.
 */
export async function isSandboxWanted(config: Pick<Config, 'sandbox'>, pool: Pool): Promise<boolean> {
  if (config.sandbox !== 'auto') return config.sandbox === 'on';
  return (await countRealConnections(pool)) === 0 || (await isKept(pool));
}

export type Sandbox = {
  readonly social: Pick<SandboxSocialNetworks, 'apps' | 'page' | 'url'>;
  /** Directs the callbacks of the networks to the port of this machine at which the program takes them (`startCallbackServer`). */
  startCallbacks(port: number): Promise<void>;
  /** Stops all simulators. */
  close(): Promise<void>;
};

type SandboxDeps = {
  readonly config: Pick<Config, 'social' | 'publicUrl'>;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly session: Pick<WorkerSession, 'listen'>;
  readonly log: Log;
};

/**
 * Starts the sandbox's simulators of all three channels and of the social networks, and listens for inbound messages to
 * simulate.
 */
export async function startSandbox(deps: SandboxDeps): Promise<Sandbox> {
  const { pool, secretKey, session, log } = deps;
  await moveFromRetired(pool);
  const smsc = await startSmsc(pool, secretKey);
  const networks = await startSandboxNetworks(pool, secretKey);
  const social = await startSocial(deps);
  await session.listen({
    [SANDBOX_CHANNEL](payload) {
      const inbound = readSandboxInbound(payload);
      if (inbound)
        injectInbound({ smsc, networks }, inbound).catch((err: unknown) =>
          log.warn({ err }, 'the sandbox could not send the inbound message'),
        );
    },
  });
  return {
    social,
    startCallbacks: (port) => networks.startCallbacks(`http://127.0.0.1:${port}`),
    async close() {
      await Promise.all([smsc.close(), networks.close(), social.close()]);
    },
  };
}

/** Assigns the inbound messages of all sandbox connections to an account. */
export async function assignSandboxNumbers(pool: Pool, { accountId }: { accountId: number }): Promise<void> {
  for (const name of [SMSC_NAME, WHATSAPP_NAME, RCS_NAME]) {
    const connection = await findConnection(pool, { name });
    if (connection?.sandbox) await insertNumber(pool, { connectionId: connection.id, number: '*', accountId });
  }
}

/** The NOTIFY channel for inbound messages to simulate; the payload is a `SandboxInbound` in JSON. */
const SANDBOX_CHANNEL = 'heliograph_sandbox';

/** Notifies the program that runs the sandbox. PostgreSQL limits the payload to 8,000 bytes. */
export async function notifySandbox(db: Db, payload: string): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${SANDBOX_CHANNEL}, ${payload})`);
}

type Key = { readonly accountId: number; readonly id: string };

/** Waits in chunk `q`, or is being submitted. */
const IS_QUEUED = sql`i.id <> ALL (coalesce(q.withdrawn, '{}'))`;

/** By connection `c.id`: messages that the sandbox has, or may have, and on which it owes a receipt. */
const OWED = sql`message_state s
  JOIN message m ON m.account_id = s.account_id AND m.id = s.id
  WHERE s.connection_id = c.id AND s.status IN (${OPEN_STATES}) AND s.submitted_at IS NOT NULL
    AND (m.want_receipt OR s.status = ${constant(STATUS.UNKNOWN)})`;

const OPEN = columns({
  connection: as<string>('c.name'),
  retired: as<boolean>("c.sandbox_state IS NOT DISTINCT FROM 'retired'"),
  /** Messages that wait for it, or are being submitted to it. */
  queued: as<number>('q.count'),
  /** Messages that it took, or may have taken, and that have no final state. */
  unconfirmed: as<number>('o.count'),
});
export type OpenMessages = RowOf<typeof OPEN>;

/** Counts the open messages of the sandbox's connections, retired or not; none without any. */
export async function listOpenMessages(db: Db): Promise<OpenMessages[]> {
  return many(
    db,
    sql`SELECT ${OPEN}
        FROM connection c
        CROSS JOIN LATERAL (SELECT count(*) AS count FROM dispatch_chunk q CROSS JOIN unnest(q.ids) AS i (id)
                            WHERE q.connection_id = c.id AND ${IS_QUEUED}) AS q
        CROSS JOIN LATERAL (SELECT count(*) AS count FROM ${OWED}) AS o
        WHERE c.sandbox AND q.count + o.count > 0 ORDER BY c.id`,
  );
}

/** Lists messages of one chunk that wait for the sandbox and of which no submit has begun; none when no chunk has any. */
async function listWaiting(db: Db): Promise<Key[]> {
  const row = await maybeOne<{ accountId: number; ids: string }>(
    db,
    sql`SELECT q.account_id AS "accountId", array_to_string(w.ids, ',') AS ids
        FROM dispatch_chunk q JOIN connection c ON c.id = q.connection_id AND c.sandbox
        CROSS JOIN LATERAL (SELECT array_agg(i.id) AS ids FROM unnest(q.ids[q.intent + 1:]) AS i (id)
                            WHERE ${IS_QUEUED}) AS w
        WHERE w.ids IS NOT NULL ORDER BY q.id LIMIT 1`,
  );
  return row === undefined ? [] : row.ids.split(',').map((id) => ({ accountId: row.accountId, id }));
}

const KEY = columns({ accountId: as<number>('s.account_id'), id: as<string>('s.id') });

/** Lists `limit` messages that the sandbox took, or may have taken, and that have no final state. */
async function listUnconfirmed(db: Db, { limit }: { limit: number }): Promise<Key[]> {
  return many(
    db,
    sql`SELECT u.* FROM connection c CROSS JOIN LATERAL (SELECT ${KEY} FROM ${OWED}) AS u
        WHERE c.sandbox ORDER BY u."accountId", u.id LIMIT ${limit}`,
  );
}

const NAME = columns({ name: as<string>('name') });

/**
 * Retires the connections of the sandbox, which pauses them: workers stop their links, after the responses to what they
 * have written. Returns those that were not retired.
 */
async function moveToRetired(db: Db): Promise<RowOf<typeof NAME>[]> {
  return many(
    db,
    sql`UPDATE connection SET status = 'paused', sandbox_state = 'retired', version = version + 1
        WHERE sandbox AND sandbox_state IS DISTINCT FROM 'retired' RETURNING ${NAME}`,
  );
}

/**
 * Keeps the sandbox next to real carriers; returns its connections. Those that were retired are `restored`, and stay
 * paused until it starts: nothing listens on their old ports.
 */
async function moveToKept(db: Db): Promise<RowOf<typeof NAME>[]> {
  return many(
    db,
    sql`UPDATE connection SET sandbox_state = CASE WHEN sandbox_state IN ('retired', 'restored') THEN 'restored' ELSE 'kept' END,
                              version = version + 1
        WHERE sandbox RETURNING ${NAME}`,
  );
}

/** Returns true if the sandbox is to run next to real carriers (`moveToKept`). */
async function isKept(db: Db): Promise<boolean> {
  return (
    (await maybeOne(db, sql`SELECT FROM connection WHERE sandbox_state IN ('restored', 'kept') LIMIT 1`)) !== undefined
  );
}

/** Returns true if there is a sandbox that is neither retired nor to be kept. */
export async function isInUse(db: Db): Promise<boolean> {
  return (
    (await maybeOne(db, sql`SELECT FROM connection WHERE sandbox AND sandbox_state IS NULL LIMIT 1`)) !== undefined
  );
}

/** Makes the connections of a retired or restored sandbox usable again, because it starts. */
export async function moveFromRetired(db: Db): Promise<number> {
  return exec(
    db,
    sql`UPDATE connection SET status = 'active', version = version + 1,
                              sandbox_state = CASE WHEN sandbox_state = 'restored' THEN 'kept' END
        WHERE sandbox_state IN ('retired', 'restored')`,
  );
}

const BATCH_SIZE = 1000;

/** Removes everything that leads to the sandbox: messages would wait for a carrier that never starts. */
async function closeSandbox(pool: Pool): Promise<void> {
  await retireSmsc(pool);
  await retireSandboxNetworks(pool);
  await retireSocial(pool);
}

/**
 * Retires the sandbox completely, unless messages are open on it: nothing leads to it any more, its connections are
 * paused, and readiness, metrics, `doctor` and the lists omit them. Its receipts that match no message are deleted.
 * Numbers stay assigned, so that it can be restored as it was.
 *
 * @returns the messages that keep it from being retired; none when it is retired, or there is none
 */
export async function retireSandbox(pool: Pool, author: Author): Promise<OpenMessages[]> {
  await closeSandbox(pool);
  return transaction(pool, async (tx) => {
    const open = await listOpenMessages(tx);
    if (open.length > 0) return open;
    // Nothing is open any more, so that none of them can still find its message.
    await deleteUnmatchedOfSandbox(tx);
    await recordEach(tx, author, { connections: await moveToRetired(tx), sandbox: 'retired' });
    return [];
  });
}

export type EndedMessages = { readonly withdrawn: number; readonly givenUp: number };

/**
 * Retires the sandbox and ends its open messages: nothing leads to it any more, and it is retired before the first
 * message ends, so that `doctor` and the next start know what was interrupted. Queued messages end DELETED, those with
 * an outstanding receipt end EXPIRED; frozen credit returns, and no other channel follows. Messages that are being
 * submitted at this moment stay. Each batch takes a separate transaction, so the call can be repeated after an
 * interruption.
 */
export async function endOpenMessages(
  pool: Pool,
  { by, now }: { readonly by: string; readonly now: Date },
): Promise<EndedMessages> {
  await closeSandbox(pool);
  const author = operatorAuthor(GATEWAY_ACCOUNT_ID, by);
  await transaction(pool, async (tx) =>
    recordEach(tx, author, { connections: await moveToRetired(tx), sandbox: 'retired' }),
  );
  const withdrawn = await untilNone(async () => {
    const keys = await listWaiting(pool);
    return keys.length === 0 ? 0 : (await transaction(pool, (tx) => cancelMessages(tx, keys, { by, now }))).size;
  });
  const givenUp = await untilNone(() => giveUp(pool, now));
  return { withdrawn, givenUp };
}

async function untilNone(work: () => Promise<number>): Promise<number> {
  let all = 0;
  for (let count = await work(); count > 0; count = await work()) all += count;
  return all;
}

/**
 * Ends messages as the end of their validity does: no other channel follows, because someone may have seen the message
 * in a trial.
 */
async function giveUp(pool: Pool, doneAt: Date): Promise<number> {
  const keys = await listUnconfirmed(pool, { limit: BATCH_SIZE });
  if (keys.length === 0) return 0;
  const end = { status: STATUS.EXPIRED, doneAt, errorCode: EXPIRED_BY_US, errorText: 'the sandbox was retired' };
  const stayed = await transaction(pool, (tx) =>
    endMessages(
      tx,
      keys.map((key) => ({ ...key, ...end })),
    ),
  );
  return keys.length - stayed.size;
}

/**
 * Lets the sandbox run next to real carriers, from the next start of the command `serve`, which creates its routes and
 * senders again. Returns the names of its connections; none when there never was a sandbox.
 */
export function restoreSandbox(pool: Pool, author: Author): Promise<string[]> {
  return transaction(pool, async (tx) => {
    const connections = await moveToKept(tx);
    await recordEach(tx, author, { connections, sandbox: 'kept' });
    return connections.map(({ name }) => name);
  });
}

type Moved = { readonly connections: readonly { readonly name: string }[]; readonly sandbox: 'retired' | 'kept' };

async function recordEach(tx: Db, author: Author, { connections, ...detail }: Moved): Promise<void> {
  for (const { name } of connections)
    await recordAudit(tx, author, { action: 'connection.change', subject: `connection:${name}`, detail });
  if (connections.length > 0) await notifyRoutingChange(tx);
}

export const describeOpen = (open: readonly OpenMessages[]): string =>
  open
    .map(({ connection, queued, unconfirmed }) => `${connection}: ${queued} wait, ${unconfirmed} without a receipt`)
    .join('; ');
