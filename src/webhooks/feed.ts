import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { type Author, recordAudit } from '../accounts/audit.ts';
import type { Actor } from '../core/actor.ts';
import { as, columns, type Db, exec, many, maybeOne, one, type RowOf, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { AppError, type FieldError, invalidFields } from '../core/errors.ts';
import { type App, ErrorOut, ref, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { waitWithoutTurn } from '../core/http/turns.ts';
import { firstIdAt, timeOfId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { instant, orNull } from '../core/schema.ts';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../core/time.ts';
import { unknownType } from './endpoint-routes.ts';
import { envelopeOf, type Links, typeOf, typesOf } from './event-types.ts';
import { withFacts } from './facts.ts';
import { eventsOf, notifySubscriptions, ROW_EVENTS, UNDIVIDED, unpackRow } from './outbox.ts';
import type { WebhookRouteDeps } from './routes.ts';

/** Days for which the events of a feed are kept. */
export const FEED_DAYS = 7;
/** Maximum events of one page of the feed. */
export const MAX_LIMIT = 1000;
const MAX_WAIT_SECONDS = 25;
const POLL_MS = 500;
/** Requests of one account that wait at the same time, in one process. */
export const MAX_WAITING = 20;

/** A place in the feed: behind this event of this row. */
type Cursor = { readonly row: string; readonly place: number };

const toText = ({ row, place }: Cursor): string => {
  const bytes = Buffer.alloc(18, Buffer.from(row.replaceAll('-', ''), 'hex'));
  bytes.writeUInt16BE(place, 16);
  return bytes.toString('base64url');
};

function readCursor(text: string): Cursor {
  const bytes = Buffer.from(text, 'base64url');
  const hex = bytes.toString('hex', 0, 16);
  const row = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  return { row, place: bytes.length === 18 ? bytes.readUInt16BE(16) : 0 };
}

type FeedPage = {
  readonly events: Record<string, unknown>[];
  readonly next: string | null;
  readonly caughtUp: boolean;
};

type FeedRequest = {
  readonly after: string | undefined;
  readonly limit: number;
  /** Null: all. */
  readonly types: ReadonlySet<string> | null;
  readonly showsAmounts: boolean;
  readonly fileUrl: Links['fileUrl'];
};

/**
 * Reads the events of an account that follow a cursor, in an order that never changes. An event is shown when no
 * transaction is open any more that could still place one before it, so a reader that goes on from `next` misses none,
 * whatever order transactions commit in. Events about the same message, conversation, campaign or contact keep their
 * order.
 *
 * Errors: 409 if the account keeps no feed; 410 if the cursor is older than the feed, or of another database.
 */
export async function readFeed(
  db: Db,
  { accountId }: { readonly accountId: number },
  { after, limit, types, showsAmounts, fileUrl }: FeedRequest,
): Promise<FeedPage> {
  const { since, lastSeq } = await findFeed(db, { accountId });
  if (since === null)
    throw new AppError('conflict', {
      message: 'The account keeps no feed: switch it on with PUT …/event-feed/settings',
    });
  const oldest = new Date(Math.max(since.getTime(), Date.now() - FEED_DAYS * DAY_MS));
  const cursor = after === undefined ? null : readCursor(after);
  const from = cursor && (await findRow(db, { accountId, id: cursor.row, firstId: firstIdAt(oldest) }));
  if (cursor && !from)
    throw new AppError('gone', {
      message: `The cursor is too old: the feed begins at ${oldest.toISOString()}. Read it without after`,
    });
  // To find some of the wanted types.
  const scanned = types === null ? limit : MAX_LIMIT;
  const skipped = cursor ? cursor.place + 1 : 0;
  const rows = await listPublished(db, {
    accountId,
    from: from ?? { position: '0', seq: 0 },
    horizon: await findHorizon(db, lastSeq),
    // Seeds and positions are given at the same time, by the clock and by the counter of transactions.
    firstId: firstIdAt(cursor ? new Date(timeOfId(cursor.row).getTime() - HOUR_MS) : oldest),
    events: scanned + skipped + 1,
  });
  const all = rows
    .flatMap((row) =>
      eventsOf(row).map((event, place) => ({ ...event, accountId, at: event.at, row: row.seed, place })),
    )
    .slice(skipped);
  const wanted = all
    .slice(0, scanned)
    .filter((event) => types === null || types.has(typeOf(event) ?? ''))
    .slice(0, limit);
  const isFull = types !== null && wanted.length === limit;
  const last = isFull ? wanted.at(-1) : all.slice(0, scanned).at(-1);
  const loaded = await withFacts(
    db,
    wanted.map((event) => ({ ...event, endpoint: UNDIVIDED })),
  );
  return {
    events: loaded.flatMap((event) => (event.facts && envelopeOf(event, event.facts, { showsAmounts, fileUrl })) ?? []),
    next: last ? toText(last) : (after ?? null),
    caughtUp: !last || last === all.at(-1),
  };
}

/**
 * Adds an event without content, which no reader gets, to the feeds of accounts whose last event is from before: the
 * cursors of those who have read everything move on to it. Otherwise a cursor would be older than the feed after a quiet
 * week, although its reader missed nothing.
 */
export const refreshFeeds = (db: Db, { before }: { readonly before: Date }): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO webhook_published (account_id, id, kind, status, message_ids, at, errors)
        SELECT a.id, uuidv7(), 'DELIVERY', ${STATUS.DELIVERED}::smallint, ARRAY[gen_random_uuid()], ARRAY[now()],
          ARRAY[NULL::text]
        FROM account a WHERE a.feed_since IS NOT NULL AND a.away IS NULL
          AND EXISTS (SELECT FROM webhook_published p WHERE p.account_id = a.id)
          AND NOT EXISTS (SELECT FROM webhook_published p WHERE p.account_id = a.id AND p.id >= ${firstIdAt(before)})`,
  );

type Position = { readonly position: string; readonly seq: number };

const PUBLISHED = columns({ seed: as<string>('o.id') });

/**
 * Returns the last position up to which no row can appear any more. A row has the greater of the id of its transaction and
 * the first id that was not complete when it was written, and a number that grows with each row. So rows that are written
 * from now on come after the first id that is not complete now and the last number, and those of an open transaction not
 * before its id. Open are those that hold the lock of an insert: transactions of other tables and databases, however long
 * they take, hold nothing up.
 *
 * Locks end after commits become visible, so only a later statement, with a later snapshot, sees all rows.
 *
 * @param lastSeq the last number, read before
 */
async function findHorizon(db: Db, lastSeq: number): Promise<Position> {
  const { complete, writing } = await one<{ complete: string; writing: string | null }>(
    db,
    sql`WITH held AS MATERIALIZED (SELECT * FROM pg_locks WHERE granted AND locktype IN ('relation', 'transactionid')),
          now AS (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS complete),
          writing AS (
            -- Ids of locks are the lower 32 bits; one that is ahead counts as the first incomplete one.
            SELECT (complete - x.transactionid::text::bigint) & 4294967295 AS behind
            FROM now, held w JOIN held x USING (virtualtransaction)
            WHERE w.relation = 'webhook_published'::regclass AND w.mode = 'RowExclusiveLock'
              AND w.database = (SELECT oid FROM pg_database WHERE datname = current_database())
              AND x.locktype = 'transactionid' AND x.mode = 'ExclusiveLock')
        SELECT complete::text,
          (SELECT complete - max(CASE WHEN behind < 2147483648 THEN behind ELSE 0 END) FROM writing)::text AS writing
        FROM now`,
  );
  return writing === null ? { position: complete, seq: lastSeq } : { position: writing, seq: 0 };
}

/** Lists the rows from a position on until which there are this many events, below the horizon. */
async function listPublished(
  db: Db,
  {
    accountId,
    from,
    horizon,
    firstId,
    events,
  }: {
    readonly accountId: number;
    readonly from: Position;
    readonly horizon: Position;
    readonly firstId: string;
    readonly events: number;
  },
) {
  const rows = await many(
    db,
    sql`SELECT ${PUBLISHED}, ${ROW_EVENTS} FROM (
          SELECT *, sum(cardinality(message_ids)) OVER (ORDER BY position, seq) - cardinality(message_ids) AS before
          FROM (SELECT * FROM webhook_published
                WHERE account_id = ${accountId} AND id >= ${firstId}
                  AND (position, seq) >= (${from.position}::xid8, ${from.seq}::bigint)
                  AND (position, seq) <= (${horizon.position}::xid8, ${horizon.seq}::bigint)
                ORDER BY position, seq LIMIT ${events}) AS next) AS o
        WHERE o.before < ${events} ORDER BY o.position, o.seq`,
  );
  return rows.map(unpackRow);
}

const POSITION = columns({ position: as<string>('position::text'), seq: as<number>('seq') });

const findRow = (
  db: Db,
  { accountId, id, firstId }: { readonly accountId: number; readonly id: string; readonly firstId: string },
): Promise<RowOf<typeof POSITION> | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${POSITION} FROM webhook_published WHERE account_id = ${accountId} AND id = ${id} AND id >= ${firstId}`,
  );

/** Finds since when the account keeps a feed (null: it does not), and the number of the last row of all accounts. */
const findFeed = (
  db: Db,
  { accountId }: { readonly accountId: number },
): Promise<{ since: Date | null; lastSeq: number }> =>
  one(
    db,
    sql`SELECT (SELECT feed_since FROM account WHERE id = ${accountId}) AS since,
          coalesce(pg_sequence_last_value('webhook_outbox_id_seq'), 0) AS "lastSeq"`,
  );

/** Switches the feed on or off. Call it in a transaction. */
async function setFeed(tx: Db, author: Author, { enabled }: { readonly enabled: boolean }): Promise<Date | null> {
  const { accountId } = author;
  const changed = await exec(
    tx,
    sql`UPDATE account SET feed_since = CASE WHEN ${enabled}::boolean THEN now() END
        WHERE id = ${accountId} AND (feed_since IS NOT NULL) <> ${enabled}::boolean`,
  );
  if (changed > 0) {
    await notifySubscriptions(tx);
    await recordAudit(tx, author, { action: 'webhook.feed', subject: `account:${accountId}`, detail: { enabled } });
  }
  return (await findFeed(tx, { accountId })).since;
}

const FEED = '/api/partner-gateway/v1/event-feed';
const tags = ['Webhooks'];
const onRequest = requireScope('webhooks');

const FeedQuery = Type.Object({
  after: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]{24}$',
      description: 'The `next` of an earlier response. Without it, the feed is read from its beginning.',
      'x-message': 'must be the next of an earlier response',
    }),
  ),
  types: Type.Optional(
    Type.String({ maxLength: 2000, description: 'Such as `message.*,contact.created`; all without it.' }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: 100 }),
  wait: Type.Integer({
    minimum: 0,
    maximum: MAX_WAIT_SECONDS,
    default: 0,
    description: 'Seconds to wait for an event if there is none.',
  }),
});
const FeedOut = Type.Object({
  events: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
    description: 'Envelopes as endpoints of format v2 receive them, with the same ids.',
  }),
  next: orNull(
    Type.String({ description: 'The cursor for the next request. Null as long as there never was an event.' }),
  ),
  caughtUp: Type.Boolean({ description: 'False: there are more events already.' }),
});
const SettingsIn = Type.Object({ enabled: Type.Boolean() });
const SettingsOut = Type.Object({
  enabled: Type.Boolean(),
  since: orNull(instant('Since when events are kept, for seven days each.')),
});
const toSettings = (since: Date | null): Static<typeof SettingsOut> => ({
  enabled: since !== null,
  since: since?.toISOString() ?? null,
});

type FeedDeps = WebhookRouteDeps & Pick<Links, 'fileUrl'>;

/** Registers the routes of the feed of events. */
export function feedRoutes(app: App, { pool, fileUrl }: FeedDeps): void {
  const waiting = new Map<number, number>();
  const closing = new AbortController();
  // A server that closes waits for its responses.
  app.addHook('preClose', async () => closing.abort());

  app.get(FEED, {
    onRequest,
    schema: {
      tags,
      operationId: 'readEventFeed',
      summary: 'Read the feed of events',
      description:
        'The events of the last seven days in an order that does not change, for programs that cannot receive webhooks: read, ' +
        'store `next`, and read again with it as `after`. No event is missing and none comes twice, whatever is committed ' +
        'meanwhile. Any number of readers may each have their cursor; with the same cursor `types` may change. A response may ' +
        'have no event of these types and yet not be `caughtUp`. An event appears when no ' +
        'older transaction with events is open, usually at once. 409: the account keeps no feed. 410: the cursor is older than the feed.',
      querystring: FeedQuery,
      response: { 200: FeedOut, 409: ref(ErrorOut), 410: ref(ErrorOut) },
    },
    handler: async (asked) => {
      const {
        actor,
        query: { after, types, limit, wait },
      } = asked;
      const request = {
        limit,
        types: types === undefined ? null : readTypes(types),
        showsAmounts: actor.operations.has('money'),
        fileUrl,
      };
      const deadline = performance.now() + wait * SECOND_MS;
      const read = (cursor = after) => readFeed(tenant(pool, actor), actor, { ...request, after: cursor });
      const page = await read();
      return wait === 0 || isWorth(page) ? page : counted(actor, () => awaitEvents(read, page, deadline, asked));
    },
  });

  app.get(`${FEED}/settings`, {
    onRequest,
    schema: {
      tags,
      operationId: 'findEventFeed',
      summary: 'Get whether the account keeps a feed of events',
      response: { 200: SettingsOut },
    },
    handler: async ({ actor }) => toSettings((await findFeed(tenant(pool, actor), actor)).since),
  });

  app.put(`${FEED}/settings`, {
    onRequest,
    schema: {
      tags,
      operationId: 'updateEventFeed',
      summary: 'Switch the feed of events on or off',
      description:
        'From then on, every event of the account is kept for seven days. Events of before are not in the feed.',
      body: withExamples(SettingsIn, { enabled: true }),
      response: { 200: SettingsOut },
    },
    handler: ({ actor, body }) =>
      tenantTransaction(pool, actor, async (tx) => toSettings(await setFeed(tx, actor, body))),
  });

  /** Reads again until there is an event, or the time is over, the client has left or the server closes. */
  async function awaitEvents(
    read: (cursor?: string) => Promise<FeedPage>,
    page: FeedPage,
    deadline: number,
    asked: FastifyRequest,
  ): Promise<FeedPage> {
    let latest = page;
    const { socket } = asked.raw;
    while (!isWorth(latest) && performance.now() < deadline && !socket.destroyed && !closing.signal.aborted) {
      await waitWithoutTurn(asked, () => pause(POLL_MS, undefined, { signal: closing.signal }).catch(() => undefined));
      // Not again the events of other types.
      latest = await read(latest.next ?? undefined);
    }
    return latest;
  }

  async function counted<T>({ accountId }: Pick<Actor, 'accountId'>, work: () => Promise<T>): Promise<T> {
    const count = waiting.get(accountId) ?? 0;
    if (count >= MAX_WAITING)
      throw new AppError('rate_limited', { message: 'Too many readers of the account wait', retryAfterSeconds: 10 });
    waiting.set(accountId, count + 1);
    try {
      return await work();
    } finally {
      const left = (waiting.get(accountId) ?? 1) - 1;
      if (left === 0) waiting.delete(accountId);
      else waiting.set(accountId, left);
    }
  }
}

const isWorth = ({ events, caughtUp }: FeedPage): boolean => events.length > 0 || !caughtUp;

/** Reads a list of types or patterns. Errors: 400. */
function readTypes(text: string): ReadonlySet<string> {
  const patterns = text.split(',').map((pattern) => pattern.trim());
  const details: FieldError[] = patterns.flatMap((pattern) =>
    typesOf(pattern).length > 0 ? [] : [{ field: 'types', message: unknownType(pattern) }],
  );
  if (details.length > 0) throw invalidFields(details);
  return new Set(patterns.flatMap(typesOf));
}
