import { type Static, Type } from 'typebox';
import {
  accountIdField,
  amount,
  connectionField,
  IdParams,
  OPERATOR_PATH,
  operatorNameOf,
} from '../accounts/operator-fields.ts';
import { contactImport } from '../contacts/import.ts';
import {
  as,
  columns,
  type Db,
  many,
  one,
  pageRows,
  type Paging,
  type RowOf,
  type Sql,
  sql,
  timeOf,
} from '../core/db/query.ts';
import {
  answerPage,
  type App,
  offsetOf,
  pageFields,
  PageOf,
  pageOf,
  PageQuery,
  type PlatformDeps,
} from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { idempotentHandler } from '../core/http/idempotency.ts';
import { instant, orNull } from '../core/schema.ts';
import { MISSED_AFTER } from '../dispatch/store.ts';
import { exportJob } from '../exports/make.ts';
import { cancelMissed, listMissed, releaseMissed } from '../messages/schedules.ts';
import { listWorkers, type WorkerRow } from './workers.ts';

const tags = ['Operator: queues'];
const seconds = orNull(amount('The age of the oldest entry; null when there is none.'));
const count = (description: string) => Type.Integer({ description });

const depth = {
  waiting: count('Messages that are due and wait for their carrier.'),
  scheduled: count('Messages scheduled for later.'),
  missed: count('Messages whose scheduled time passed more than an hour ago: an operator decides about them.'),
  inFlight: count('Messages that may be with the carrier.'),
  parked: count('Messages of paused campaigns.'),
  oldestSeconds: seconds,
};

const DepthOut = Type.Object({
  accountId: Type.Integer(),
  account: Type.String(),
  connection: orNull(Type.String({ description: 'Null: the connection was removed.' })),
  priority: Type.Integer({ description: 'Lower numbers go first.' }),
  ...depth,
});

const WorkerOut = Type.Object({
  id: Type.String(),
  host: Type.String(),
  pid: Type.Integer(),
  startedAt: instant('UTC'),
  seenAt: instant('Time of the last report of the worker; it reports every ten seconds.'),
  alive: Type.Boolean({ description: 'True if the worker holds its lock in the database.' }),
  tasks: Type.Array(
    Type.Object({
      name: Type.String(),
      ranAt: orNull(instant('End of the last run; null before the first.')),
      error: orNull(Type.String({ description: 'Reason why the last run failed.' })),
    }),
  ),
});

const QueuesOut = Type.Object({
  asOf: instant('UTC'),
  messages: Type.Object(depth),
  webhooks: Type.Object({
    fresh: count('Events that were never tried.'),
    retrying: count('Events that wait for another attempt.'),
    dead: count('Events that were given up and can be sent again.'),
    oldestSeconds: seconds,
  }),
  pipelines: Type.Array(
    Type.Object({ name: Type.String(), waiting: count('Rows that are due.'), oldestSeconds: seconds }),
    {
      description:
        'The queues of background processes: unprocessed receipts, unmatched receipts, campaigns, imports, exports, ' +
        'fallbacks and webhook retries.',
    },
  ),
  workers: Type.Array(WorkerOut),
});

const MissedOut = Type.Object({
  id: Type.Integer(),
  accountId: Type.Integer(),
  account: Type.String(),
  messages: Type.Integer(),
  dueAt: instant('UTC'),
});

const DepthQuery = Type.Object({
  ...pageFields,
  accountId: Type.Optional(accountIdField),
  connection: connectionField,
});

/** Registers the routes that show the queues, and that decide about missed schedules. */
export function operatorQueueRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireOperator();

  app.get(`${OPERATOR_PATH}/queues`, {
    onRequest,
    config: { command: 'queue show' },
    schema: {
      tags,
      operationId: 'operatorFindQueues',
      summary: 'Get all queues, and the workers that process them',
      response: { 200: QueuesOut },
    },
    handler: async () => {
      const [messages, webhooks] = [await findDepth(pool), await findWebhookBacklog(pool)];
      const [pipelines, workers] = [await listBacklogs(pool), await listWorkers(pool)];
      return { asOf: clock.now().toISOString(), messages, webhooks, pipelines, workers: workers.map(toWorker) };
    },
  });

  app.get(`${OPERATOR_PATH}/queues/messages`, {
    onRequest,
    config: { command: 'queue list' },
    schema: {
      tags,
      operationId: 'operatorListQueues',
      summary: 'List waiting messages by account, connection and priority',
      description: 'Sorted by the number of waiting messages, highest first.',
      querystring: DepthQuery,
      response: { 200: PageOf(DepthOut) },
    },
    handler: ({ query }) => answerPage(query, listDepths(pool, query), (row) => row),
  });

  missedRoutes(app, deps);
}

function missedRoutes(app: App, deps: PlatformDeps): void {
  const { pool, clock } = deps;
  const onRequest = requireOperator();
  const MISSED = `${OPERATOR_PATH}/schedules/missed`;
  const Decided = Type.Object(
    { messages: count('The number of messages concerned.') },
    { examples: [{ messages: 3 }] },
  );

  app.get(MISSED, {
    onRequest,
    config: { command: 'schedule missed' },
    schema: {
      tags,
      operationId: 'operatorListMissed',
      summary: 'List schedules that were missed by more than an hour',
      description: 'The program was down at their time. They wait until an operator releases or cancels them.',
      querystring: PageQuery,
      response: { 200: PageOf(MissedOut) },
    },
    handler: async ({ query }) => {
      const all = await listMissed(pool);
      const rows = all.slice(offsetOf(query), offsetOf(query) + query.limit);
      const data = rows.map(({ dueAt, ...row }) => ({ ...row, dueAt: dueAt.toISOString() }));
      return pageOf(query, data, all.length);
    },
  });

  // A second decision gets 404: nothing is sent or refunded twice.
  app.post(`${MISSED}/:id/release`, {
    onRequest,
    config: { command: 'schedule release' },
    schema: {
      tags,
      operationId: 'operatorReleaseMissed',
      summary: 'Send a missed schedule now',
      params: IdParams,
      response: { 200: Decided },
    },
    handler: idempotentHandler(deps, async ({ actor, params }) => ({
      messages: await releaseMissed(pool, { id: params.id, by: operatorNameOf(actor) }),
    })),
  });

  app.post(`${MISSED}/:id/cancel`, {
    onRequest,
    config: { command: 'schedule cancel' },
    schema: {
      tags,
      operationId: 'operatorCancelMissed',
      summary: 'Cancel a missed schedule and return its credit',
      params: IdParams,
      response: { 200: Decided },
    },
    handler: idempotentHandler(deps, async ({ actor, params }) => ({
      messages: await cancelMissed(pool, { id: params.id, by: operatorNameOf(actor), now: clock.now() }),
    })),
  });
}

const toWorker = ({ owner, startedAt, seenAt, tasks, ...row }: WorkerRow): Static<typeof WorkerOut> => ({
  ...row,
  id: String(owner),
  startedAt: startedAt.toISOString(),
  seenAt: seenAt.toISOString(),
  tasks: [...tasks],
});

/** The chunks `c` that are due: not in the future, and not a missed schedule. */
const DUE = sql`(c.available_at <= now() AND (NOT c.scheduled OR c.available_at > now() - ${MISSED_AFTER}))`;
const MISSED = sql`(c.scheduled AND c.available_at <= now() - ${MISSED_AFTER})`;

/** The messages up to the intent of a chunk may be with the carrier; the others have not been written yet. */
const DEPTH = columns({
  waiting: as<number>(
    sql`coalesce(sum(c.size - c.intent) FILTER (WHERE ${DUE} AND c.parked_until IS NULL), 0)::bigint`,
  ),
  scheduled: as<number>('coalesce(sum(c.size - c.intent) FILTER (WHERE c.available_at > now()), 0)::bigint'),
  missed: as<number>(sql`coalesce(sum(c.size - c.intent) FILTER (WHERE ${MISSED}), 0)::bigint`),
  inFlight: as<number>('coalesce(sum(c.intent), 0)::bigint'),
  parked: as<number>('coalesce(sum(c.size - c.intent) FILTER (WHERE c.parked_until IS NOT NULL), 0)::bigint'),
  oldestSeconds: as<number | null>(
    sql`extract(epoch FROM now() - min(c.available_at) FILTER (WHERE ${DUE} AND c.parked_until IS NULL))::float8`,
  ),
});
type Depth = RowOf<typeof DEPTH>;

/** Counts the messages in the queue, over all accounts and connections. */
export async function findDepth(db: Db): Promise<Depth> {
  return one(db, sql`SELECT ${DEPTH} FROM dispatch_chunk c`);
}

const GROUP = columns({
  accountId: as<number>('c.account_id'),
  account: as<string>('a.name'),
  /** Null when the connection was removed. */
  connection: as<string | null>('k.name'),
  priority: as<number>('c.priority'),
});
type DepthRow = RowOf<typeof GROUP> & Depth;

type DepthFilter = Paging & { readonly accountId?: number | null; readonly connection?: string | null };

/** Reads a page of the queue by account, connection and priority; those with the most waiting messages come first. */
const listDepths = (db: Db, { accountId = null, connection = null, ...page }: DepthFilter) =>
  pageRows<DepthRow>(
    db,
    {
      columns: sql`*`,
      from: sql`FROM (
        SELECT ${GROUP}, ${DEPTH}
        FROM dispatch_chunk c JOIN account a ON a.id = c.account_id LEFT JOIN connection k ON k.id = c.connection_id
        WHERE (${accountId}::bigint IS NULL OR c.account_id = ${accountId})
          AND (${connection}::text IS NULL OR k.name = ${connection})
        GROUP BY c.account_id, a.name, k.name, c.priority) AS g`,
      order: sql`waiting DESC, "accountId", connection, priority`,
    },
    page,
  );

type Backlog = { name: string; waiting: number; oldestSeconds: number | null };

const since = (at: Sql): Sql => sql`extract(epoch FROM now() - ${at})::float8`;

/** The columns of a backlog of jobs. */
const dueJobs = (kind: string): Sql =>
  sql`count(*), ${since(sql`min(run_at)`)} FROM job WHERE kind = ${kind} AND run_at <= now()`;

/** Lists the due work in the queue of each background process. */
async function listBacklogs(db: Db): Promise<Backlog[]> {
  return many(
    db,
    sql`SELECT 'receipts' AS name, count(*) AS waiting, ${since(sql`min(received_at)`)} AS "oldestSeconds"
        FROM receipt_batch
        UNION ALL SELECT 'unmatched receipts', count(*), ${since(sql`min(received_at)`)} FROM receipt_unmatched
        UNION ALL SELECT 'campaigns', count(*), ${since(sql`min(due_at)`)} FROM campaign_job WHERE due_at <= now()
        UNION ALL SELECT 'imports', ${dueJobs(contactImport.kind)}
        UNION ALL SELECT 'exports', ${dueJobs(exportJob.kind)}
        UNION ALL SELECT 'fallbacks', count(*), ${since(sql`min(due_at)`)} FROM message_fallback WHERE due_at <= now()
        UNION ALL SELECT 'webhook retries', count(*), ${since(sql`min(due_at)`)} FROM webhook_retry WHERE due_at <= now()`,
  );
}

const WEBHOOK_BACKLOG = columns({
  /** Events that were never tried. */
  fresh: as<number>('(SELECT coalesce(sum(cardinality(message_ids)), 0) FROM webhook_outbox)::bigint'),
  /** Events that wait for another attempt. */
  retrying: as<number>('(SELECT count(*) FROM webhook_retry)'),
  dead: as<number>(`(SELECT count(*) FROM webhook_delivery WHERE state = 'DEAD' AND state <> 'DELIVERED')`),
  /** The age of the oldest event that was never tried. */
  oldestSeconds: as<number | null>(sql`(SELECT ${since(sql`min(${timeOf(sql`seed`)})`)} FROM webhook_outbox)`),
});
type WebhookBacklog = RowOf<typeof WEBHOOK_BACKLOG>;

/** Counts the webhook events of all accounts that wait or were given up. */
async function findWebhookBacklog(db: Db): Promise<WebhookBacklog> {
  return one(db, sql`SELECT ${WEBHOOK_BACKLOG}`);
}
