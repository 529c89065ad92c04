import { type Static, Type } from 'typebox';
import { cancelMissed, releaseMissed } from '../../../messaging/schedules/decide.ts';
import { listMissed } from '../../../messaging/schedules/sql.ts';
import type { App, PlatformDeps } from '../../../platform/http/app.ts';
import { requireOperator } from '../../../platform/http/auth.ts';
import { idempotentHandler } from '../../../platform/http/idempotency.ts';
import { offsetOf, pageFields, PageOf, pageOf, PageQuery } from '../../../platform/http/page.ts';
import { instant, orNull } from '../../../platform/lib/schema.ts';
import { listWorkers, type WorkerRow } from '../../workers/sql.ts';
import { operatorNameOf } from '../author.ts';
import { accountIdField, amount, connectionField, IdParams, OPERATOR_PATH } from '../fields.ts';
import { countDepths, findDepth, findWebhookBacklog, listBacklogs, listDepths } from './sql.ts';

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
    schema: {
      tags,
      operationId: 'operatorListQueues',
      summary: 'List waiting messages by account, connection and priority',
      description: 'Sorted by the number of waiting messages, highest first.',
      querystring: DepthQuery,
      response: { 200: PageOf(DepthOut) },
    },
    handler: async ({ query }) => {
      const filter = { accountId: query.accountId ?? null, connection: query.connection ?? null };
      const rows = await listDepths(pool, { ...filter, limit: query.limit, offset: offsetOf(query) });
      return pageOf(query, rows, await countDepths(pool, filter));
    },
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
