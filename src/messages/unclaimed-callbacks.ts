import { Counter } from 'prom-client';
import type { Pool } from 'pg';
import { bytea, insertRows, json, text } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, plainArray, type RowOf, sql } from '../core/db/query.ts';
import type { Log } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import { SECOND_MS } from '../core/time.ts';
import type { CallbackEvents, CallbackPart, SharedCallbacks } from '../routing/kind.ts';
import type { Receiver, Receivers, SharingReceiver } from '../routing/supervise.ts';

type Distributed = {
  /** The events for each connection. */
  readonly claimed: readonly (readonly [receiver: Pick<Receiver, 'connectionId'>, events: CallbackEvents])[];
  /** The parts about accounts that no connection has. */
  readonly unclaimed: readonly CallbackPart[];
};

/**
 * Distributes the events of a callback among the connections that share its application at the carrier, whichever of
 * them was called. A part about a sender goes to the connection that has it: to `receiver`, if several have.
 */
export function distribute(
  { sharing }: Pick<Receivers, 'sharing'>,
  receiver: Receiver,
  { parts = [], ...events }: CallbackEvents,
): Distributed {
  const { shared } = receiver;
  if (!shared) return { claimed: [[receiver, events]], unclaimed: [] };
  const taken = new Map<SharingReceiver, CallbackPart[]>();
  const take = (by: SharingReceiver, part: CallbackPart): unknown => taken.get(by)?.push(part) ?? taken.set(by, [part]);
  const [unclaimed, notes]: [CallbackPart[], string[]] = [[], []];
  for (const part of parts) {
    const owners = sharing({ app: shared.app, owner: part.owner });
    const having = owners.filter(({ shared: { senders } }) => part.sender === '' || senders.includes(part.sender));
    const chosen = having.find(({ connectionId }) => connectionId === receiver.connectionId) ?? having[0];
    if (owners.length === 0) unclaimed.push(part);
    else if (!chosen) notes.push(`no connection has the sender ${part.sender} of ${part.owner}`);
    else for (const by of part.sender === '' ? having : [chosen]) take(by, part);
  }
  const read = [...taken].map(([by, own]) => [by, by.shared.readParts(own)] as const);
  return { claimed: [[receiver, { ...events, notes: [...events.notes, ...notes] }], ...read], unclaimed };
}

/**
 * Keeps parts for 24 hours, for a connection that is being added: until it is, Meta posts its messages to the URL of the
 * app, and does not repeat what was acknowledged. Resolves when they are committed.
 */
export type KeepUnclaimed = (of: Pick<SharedCallbacks, 'app'>, parts: readonly CallbackPart[]) => Promise<void>;

/** More than a business account gets in a day while the operator adds its connection. */
const MAX_KEPT = 20_000;

type KeepDeps = {
  readonly pool: Pool;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'registry'>;
  readonly maxKept?: number;
};

const UNCLAIMED = 'heliograph_callbacks_unclaimed_total';

export function createKeepUnclaimed({ pool, log, metrics, maxKept = MAX_KEPT }: KeepDeps): KeepUnclaimed {
  const counter = new Counter({
    name: UNCLAIMED,
    help: 'Parts of callbacks about accounts at a carrier that no connection has, by what became of them',
    labelNames: ['outcome'] as const,
    registers: [metrics.registry],
  });
  return async ({ app }, parts) => {
    if (parts.length === 0) return;
    const lasting = parts.filter((part) => part.lasting);
    const kept = lasting.length === 0 ? 0 : await insertUnclaimed(pool, { app, parts: lasting, maxKept });
    counter.inc({ outcome: 'kept' }, kept);
    counter.inc({ outcome: 'dropped' }, parts.length - kept);
    for (const [owner, { length: count }] of Map.groupBy(parts, (part) => part.owner))
      log.warn({ reason: owner, count }, 'a callback is about an account that no connection has');
  };
}

type ClaimDeps = {
  readonly pool: Pool;
  readonly receivers: Pick<Receivers, 'sharing'>;
  readonly storeCallback: (connectionId: number, events: CallbackEvents) => Promise<void>;
  readonly log: Log;
};

const AT_ONCE = 200;
const EVERY_MS = 10 * SECOND_MS;

/**
 * Stores kept parts of senders that have been assigned since, oldest first, and deletes those that were not claimed within
 * 24 hours. Parts that two processes store at once count once, like a callback that the carrier repeats.
 *
 * @returns the time until the next run, in ms
 */
export async function claimKept({ pool, receivers, storeCallback, log }: ClaimDeps): Promise<number> {
  await deleteForgotten(pool);
  let more = false;
  for (const { app: bytes, owner } of await listUnclaimed(pool)) {
    const app = bytes.toString('hex');
    const [first] = receivers.sharing({ app, owner });
    if (!first) continue;
    const rows = await listKept(pool, { app, owner, limit: AT_ONCE });
    const parts = rows.map(({ sender, content }) => ({ owner, sender, lasting: true, content }));
    const { claimed } = distribute(receivers, first, { ...NOTHING, parts });
    await Promise.all(claimed.map(([{ connectionId }, events]) => storeCallback(connectionId, events)));
    await deleteKept(pool, { ids: rows.map(({ id }) => id) });
    log.info({ connectionId: first.connectionId, count: rows.length }, 'stored callbacks from before it was added');
    more ||= rows.length === AT_ONCE;
  }
  return more ? 0 : EVERY_MS;
}

const NOTHING: CallbackEvents = {
  kind: 'events',
  receipts: [],
  inbounds: [],
  subscriptions: [],
  templates: [],
  notices: [],
  notes: [],
};

type Kept = { readonly app: Buffer; readonly owner: string; readonly sender: string; readonly content: string };

/** Inserts parts, unless `maxKept` are kept. Returns the number of inserted ones. */
function insertUnclaimed(
  db: Db,
  { app, parts, maxKept }: { app: string; parts: readonly CallbackPart[]; maxKept: number },
): Promise<number> {
  const rows = parts.map(
    ({ owner, sender, content }): Kept => ({
      app: Buffer.from(app, 'hex'),
      owner,
      sender,
      content: JSON.stringify(content),
    }),
  );
  return exec(
    db,
    sql`${insertRows('unclaimed_callback', rows, { app: bytea, owner: text, sender: text, content: json })}
        WHERE (SELECT count(*) FROM (SELECT FROM unclaimed_callback LIMIT ${maxKept}) AS k) < ${maxKept}`,
  );
}

const OWNER = columns({ app: as<Buffer>('app'), owner: as<string>('owner') });

/** True once the sender belongs to an account: until then, no user would see its messages. */
const IS_ASSIGNED = sql`EXISTS (SELECT FROM sender s WHERE s.channel = 'WHATSAPP' AND s.identity = u.sender)`;

const listUnclaimed = (db: Db): Promise<RowOf<typeof OWNER>[]> =>
  many(db, sql`SELECT DISTINCT ${OWNER} FROM unclaimed_callback u WHERE ${IS_ASSIGNED}`);

const KEPT = columns({ id: as<number>('id'), sender: as<string>('sender'), content: as<object>('content') });

const listKept = (
  db: Db,
  { app, owner, limit }: { app: string; owner: string; limit: number },
): Promise<RowOf<typeof KEPT>[]> =>
  many(
    db,
    sql`SELECT ${KEPT} FROM unclaimed_callback u
        WHERE app = ${Buffer.from(app, 'hex')} AND owner = ${owner} AND ${IS_ASSIGNED} ORDER BY id LIMIT ${limit}`,
  );

const deleteKept = (db: Db, { ids }: { ids: readonly number[] }): Promise<number> =>
  exec(db, sql`DELETE FROM unclaimed_callback WHERE id = ANY(${plainArray(ids)}::bigint[])`);

const deleteForgotten = (db: Db): Promise<number> =>
  exec(db, sql`DELETE FROM unclaimed_callback WHERE at < now() - interval '24 hours'`);
